"""Why a folder of runs is refused: which setting differs, its value there and its value here."""

from pathlib import Path

import pytest
from sweeping import LAB

import bentpipe
from bentpipe.errors import StoreError
from bentpipe.sweep.lab_difference import difference
from bentpipe.sweep.run import execute

VARIANT = '[[variant]]\nname = "reno"\nset = { "host.congestion_control" = "reno" }\n'


def refused(folder: Path, text: str, **options: object) -> str:
    """What is said when the lab of this text is to go into the folder of runs of LAB."""
    file = folder / "small.toml"
    file.write_text(LAB)
    out = folder / "out"
    execute(bentpipe.Lab.load(file, variants=["as is"]), engine="sim", out=out)
    file.write_text(text)
    engine = str(options.pop("engine", "sim"))
    with pytest.raises(StoreError) as said:
        execute(bentpipe.Lab.load(file, **options), engine=engine, out=out)  # type: ignore[arg-type]
    assert str(said.value).endswith(". Choose another folder with --out")
    return str(said.value)


@pytest.mark.parametrize(
    ("text", "options", "named"),
    [
        (LAB, {"set": ["path.rate=5 Mbit/s"]}, 'path.rate is "20 Mbit/s" there and "5 Mbit/s" here'),
        (LAB, {"set": ["path.rtt=5 ms"]}, 'path.rtt is "20 ms" there and "5 ms" here'),
        (LAB.replace("20 kB", "30 kB"), {}, 'workload.download.size is "20 kB" there and "30 kB" here'),
        (LAB.replace("[path]", "[path]\nqueue = '9 kB'"), {}, 'path.queue is not set there and "9 kB" here'),
        (LAB.replace("[0, 0.01]", "[0, 0.02]"), {}, "sweep.path.loss is [0, 0.01] there and [0, 0.02] here"),
        (LAB + VARIANT, {}, "variant.reno"),
        (LAB, {"engine": "live"}, "the engine is sim there and live here"),
    ],
)
def test_the_setting_that_differs_is_named_with_both_values(
    tmp_path: Path, text: str, options: dict[str, object], named: str
) -> None:
    assert named in refused(tmp_path, text, **options)


def test_of_very_many_settings_three_are_named(tmp_path: Path) -> None:
    more = [
        f"path.{key}" for key in ("rate=5 Mbit/s", "duplicate=0.1", "corrupt=0.1", "mtu=1400", "jitter=1 ms")
    ]
    assert refused(tmp_path, LAB, set=more).count(" there and ") == 3


def test_the_folder_of_another_lab_is_called_by_its_name(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / f"{name}.toml").write_text(LAB.replace("20 kB", f"{len(name)} kB"))
    execute(bentpipe.Lab.load(tmp_path / "one.toml"), engine="sim", out=tmp_path / "out")
    with pytest.raises(StoreError, match='holds runs of another lab, "one"'):
        execute(bentpipe.Lab.load(tmp_path / "other.toml"), engine="sim", out=tmp_path / "out")


@pytest.mark.parametrize("there", [{}, {"document": 3, "options": []}, {"document": "", "options": 5}])
def test_a_damaged_lab_json_is_said_to_be_unreadable(there: dict[str, object]) -> None:
    here = {"document": LAB, "options": []}
    assert difference(there, here) == "its lab.json cannot be read"


def test_the_same_settings_read_differently_are_said_to_be() -> None:
    lab = {"document": LAB, "options": ["--set path.rtt=1 ms", "--seed 3"], "engine": "sim"}
    same = {"document": LAB.replace('"20 ms"', '"1 ms"').replace('"path.rtt" =', "# "), "options": []}
    assert "another version of bentpipe" in difference(lab, same | {"engine": "sim"})
