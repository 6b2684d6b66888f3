"""What is no lab: files that are not there, and text that is not TOML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bentpipe.errors import LabError
from bentpipe.lab.load import Lab

from .conftest import WORK
from .wrong import WriteLab, Wrong, assert_told

WRONG: Mapping[str, Wrong] = {
    "published figures that are not there": (
        'published = "effects-of-latancy"\n' + WORK,
        ":1",
        "published",
        "no published figures",
        '"effects-of-latency"?',
    ),
    "invalid TOML": ('[path\nrtt = "5 ms"\n', ":1:6", "", "invalid TOML", "toml.io"),
    "a value that is missing": ("title =\n", ":1:8", "", "invalid TOML: invalid value", "toml.io"),
    "a text that does not end": ('title = """\nx\n', ":2", "", "invalid TOML", "toml.io"),
    "a key written twice": ("seed = 1\nseed = 2\n", ":2:", "", "invalid TOML", "toml.io"),
    "a number beyond measure": (f"seed = {'9' * 5000}\n", ":1", "", "invalid TOML", "toml.io"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_told_where_what_and_what_would_do(name: str, lab_file: WriteLab) -> None:
    assert_told(WRONG[name], lab_file)


def test_a_lab_that_is_not_there_is_told_the_nearest_shipped_one() -> None:
    with pytest.raises(LabError, match='did you mean "effects-of-latency"'):
        Lab.load("effect-of-latency")


def test_a_folder_is_no_lab(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="found a folder; expected a lab file"):
        Lab.load(tmp_path)


def test_a_byte_that_is_no_text_is_told_its_line(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b'title = "x"\nseed = \xff\n')
    with pytest.raises(LabError) as raised:
        Lab.load(file)
    assert (
        str(raised.value)
        == f"{file}:2: found byte 0xff, which is not UTF-8; expected a lab file (TOML, in UTF-8)"
    )


def test_nested_beyond_measure_is_a_wrong_lab_and_no_crash(lab_file: WriteLab) -> None:
    with pytest.raises(LabError, match=r"nested beyond measure|not TOML"):
        Lab.load(lab_file("x = " + "[" * 100_000))
