"""Two values of a swept key are the same by what they mean, however they are written."""

from typing import Any

import pytest

from bentpipe import Lab
from bentpipe.lab.grid.meaning import NAMES, meaning, point_meaning
from bentpipe.lab.schema import Schema, json_schema


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("path.rtt", "550 ms", "0.55 s"),
        ("path.rtt", "550ms", "550 ms"),
        ("path.rtt", "0 s", "0 ms"),
        ("path.rate", "16 Mbit/s", "16000 kbit/s"),
        ("path.rate", "16 Mbps", "2 MB/s"),
        ("path.queue", "100 kB", "0.1 MB"),
        ("path.queue", "1 bdp", "1.0 bdp"),
        ("path.queue", "1 bdp", "1 BDP"),
        ("path.queue", "1 packet", "1 packets"),
        ("path.loss", 0.01, 1e-2),
        ("path.loss", 0, 0.0),
        ("path.loss", 0.01, "0.01"),
        ("host.tcp_rmem", [4096, 131072, 6291456], [4096, 131072, 6291456]),
        ("path.loss", {"model": "burst", "mean": 3}, {"mean": 3, "model": "burst"}),
    ],
)
def test_the_same_written_in_two_ways_is_the_same(key: str, one: Any, other: Any) -> None:
    assert meaning(key, one) == meaning(key, other)


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("path.rtt", "550 ms", "551 ms"),
        ("path.rtt", "1 ms", "1 s"),
        ("path.rate", "1 Mbit/s", "1 MB/s"),
        ("path.queue", "1 bdp", "1 packet"),
        ("path.queue", "1 kB", "1 KiB"),
        ("path.loss", 0, False),
        ("host.sack", True, False),
        ("host.congestion_control", "bbr", "cubic"),
        ("workload.x.size", "9" * 65 + " B", "9" * 66 + " B"),
        ("workload.x.size", "1e999 B", "1e998 B"),
        ("path.loss", float("inf"), float("-inf")),
        ("workload.x.size.file", "1.csv", "01.csv"),
        ("workload.x.size.file", "1", "01"),
        ("path.loss.file", "1 s", "1000 ms"),
        ("path.rate.trace", "5.up", "5.0.up"),
        ("workload.x.command", "1.sh", "01.sh"),
        ("what", "1 s", "1000 ms"),
        ("what", 1, 1.0),
    ],
)
def test_what_differs_or_is_a_name_of_an_axis_is_not(key: str, one: Any, other: Any) -> None:
    assert meaning(key, one) != meaning(key, other)


def test_the_keys_whose_texts_are_no_quantities_are_those_of_the_models() -> None:
    schema = json_schema()
    tables = [schema, *schema["$defs"].values()]
    fields = [field for table in tables for field in table["properties"].items()]
    assert {key for key, form in fields if _is_any_text(form)} == NAMES


def _is_any_text(form: Schema) -> bool:
    """Neither a quantity, whose form has a title, nor one of a few words."""
    return form.get("type") == "string" and not form.keys() & {"title", "enum", "const"}


def test_points_are_the_same_in_whatever_order_and_units_they_are_written() -> None:
    one = {"path.rtt": "550 ms", "path.rate": "16 Mbit/s"}
    assert point_meaning(one) == point_meaning({"path.rate": "16000 kbit/s", "path.rtt": "0.55 s"})
    assert point_meaning(one) != point_meaning({"path.rtt": "550 ms"})


def test_a_variant_may_name_a_swept_value_in_another_unit() -> None:
    lab = Lab.loads(
        """
[[workload]]
name = "rtt"
kind = "ping"
[sweep]
"path.rtt" = ["20 ms", "550 ms"]
[[variant]]
name = "far"
set = { "path.loss" = 0.01 }
only = { "path.rtt" = ["0.55 s"] }
"""
    )
    assert [cell.first.point for cell in lab.cells() if cell.first.variant == "far"] == [
        {"path.rtt": "550 ms"}
    ]
