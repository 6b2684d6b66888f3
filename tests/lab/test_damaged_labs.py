"""Whatever the bytes of a lab, nothing but `LabError` comes out."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bentpipe.errors import LabError
from bentpipe.lab.errors import FaultError
from bentpipe.lab.faults import Places, first_fault
from bentpipe.lab.models import LabFile

from .fuzz_lab import attempt, damaged

CONTRACT = Path(__file__).with_name("contract.toml").read_text(encoding="utf-8")
KEYS = st.sampled_from(
    [
        *("path", "host", "workload", "kind", "name", "rate", "queue", "limit", "loss", "steps", "sysctl"),
        *("down", "delay", "discipline", "model", "size", "distribution", "outages", "jitter"),
        *("terrestrial", "variant", "x"),
    ]
)
LEAVES = st.sampled_from(
    [
        0,
        1,
        -1,
        0.5,
        float("nan"),
        True,
        "",
        "5",
        "5 ms",
        "1 bdp",
        "16 Mbit/s",
        "40 MB",
        "bulk",
        "channels",
        "codel",
    ]
)
VALUES = st.recursive(
    LEAVES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150)
@given(st.binary(max_size=200))
def test_bytes_that_are_no_lab_are_told_so(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert attempt(content, [], Path(folder) / "x.toml") is False


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_a_damaged_lab_loads_or_is_told_what_is_wrong(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        content = damaged(CONTRACT, random.Random(seed))
        assert attempt(content, [], Path(folder) / "x.toml") in (True, False)


@settings(max_examples=300)
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_a_document_of_any_shape_has_a_first_fault(document: dict[str, Any]) -> None:
    try:
        LabFile.model_validate(document)
    except ValidationError as error:
        fault = first_fault(error, document, Places("x.toml", {}))
        assert isinstance(fault, LabError)
        assert str(fault).startswith("x.toml: ")
    except FaultError as fault:
        raise AssertionError(fault) from fault
