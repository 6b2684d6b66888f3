"""Every key of a TOML text is found on its line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bentpipe.lab.locate import key_lines

TEXT = '''# a remark with = and [brackets]
title = "a # b ]"
text = """
[not.a.table]
key = 1
"""

[path]
"rate" = { rate = "1 Mbit/s", burst = "9 kB" } # = [
outages = [
  ["1 s", "2 s"],
  # ["3 s", "4 s"],
  [
    "5 s",
    "6 s",
  ],
]
[path . "down"]
loss.p = 0.5
quote = 'it''s'
[[workload]]
name = "a"
[[workload]]
name = "b"
[workload.size]
min = 1
'''.replace("'it''s'", "'its'")


def test_keys_tables_and_entries_of_lists_stand_on_their_lines() -> None:
    lines = key_lines(TEXT)
    assert {
        key: lines[key]
        for key in (
            ("title",),
            ("text",),
            ("path",),
            ("path", "rate"),
            ("path", "rate", "burst"),
            ("path", "outages", 0),
            ("path", "outages", 1),
            ("path", "outages", 1, 1),
            ("path", "down"),
            ("path", "down", "loss", "p"),
            ("path", "down", "quote"),
            ("workload", 0),
            ("workload", 1, "name"),
            ("workload", 1, "size", "min"),
        )
    } == {
        ("title",): 2,
        ("text",): 3,
        ("path",): 8,
        ("path", "rate"): 9,
        ("path", "rate", "burst"): 9,
        ("path", "outages", 0): 11,
        ("path", "outages", 1): 13,
        ("path", "outages", 1, 1): 15,
        ("path", "down"): 18,
        ("path", "down", "loss", "p"): 19,
        ("path", "down", "quote"): 20,
        ("workload", 0): 21,
        ("workload", 1, "name"): 24,
        ("workload", 1, "size", "min"): 26,
    }


def every_key(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The locations of all keys and list entries of a parsed document."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at] * bool(at) + [key for part, below in pairs for key in every_key(below, (*at, part))]


def test_nothing_of_a_large_lab_is_missed() -> None:
    text = Path(__file__).with_name("contract.toml").read_text(encoding="utf-8")
    lines = key_lines(text)
    missing = [key for key in every_key(tomllib.loads(text)) if key not in lines and key != ("workload",)]
    assert missing in ([], [("variant",)])


@given(st.text(alphabet="abc.=\"[]{}\n'#\\, 1", max_size=60))
def test_a_walker_that_loses_its_way_stops(text: str) -> None:
    for line in key_lines(text).values():
        assert 1 <= line <= text.count("\n") + 1
