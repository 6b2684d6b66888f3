"""What is said of a wrong lab: one message with place, key, what was found and what would do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bentpipe.errors import LabError
from bentpipe.lab.load import Lab

WriteLab = Callable[[str], Path]
Wrong = tuple[str, str, str, str, str]
"""The lab, the place behind the file's name, the key, what was found, what would do."""


def assert_told(wrong: Wrong, lab_file: WriteLab) -> None:
    text, place, key, found, remedy = wrong
    file = lab_file(text)
    with pytest.raises(LabError) as raised:
        Lab.load(file)
    error = raised.value
    assert error.where.startswith(f"{file}{place}")
    assert key in error.key
    assert found in error.found
    assert remedy in error.remedy
    assert (
        str(error)
        == f"{error.where}: {error.key + ': ' if error.key else ''}found {error.found}; {error.remedy}"
    )
    assert "\n" not in str(error)
