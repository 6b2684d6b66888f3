"""The losses of the labs that come with bentpipe are what their names say."""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest


def losses(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The mean loss of each channel with bursts, and the name beside it."""
    if not isinstance(value, dict):
        return
    if value.get("model") == "gilbert-elliott":
        p, r = value["p"], value["r"]
        yield name, (r * value.get("good", 0.0) + p * value.get("bad", 1.0)) / (p + r)
    for key, each in value.items():
        for found in each if isinstance(each, list) else [each]:
            yield from losses(found, name if key.startswith("path") else key)


SHIPPED = [
    pytest.param(name, loss, id=f"{lab.name}: {name}")
    for lab in files("bentpipe.labs").iterdir()
    if lab.name.endswith(".toml")
    for name, loss in losses(tomllib.loads(lab.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize(("name", "loss"), SHIPPED)
def test_a_channel_with_bursts_loses_as_much_as_its_name_says(name: str, loss: float) -> None:
    said = re.search(r"([\d.]+) %", name)
    assert loss == pytest.approx(float(said[1]) / 100 if said else 0.01, rel=0.02)


def test_there_are_such_channels() -> None:
    assert len(SHIPPED) >= 5
