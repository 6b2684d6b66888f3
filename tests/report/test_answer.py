"""Answers to questions in SQL: as a table that fits, as CSV, as JSON."""

import csv
import datetime
import io
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console

from bentpipe.query.questions import Column
from bentpipe.report import answer


class Given:
    """An answer whose rows are known."""

    def __init__(self, columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]) -> None:
        self.columns = [Column(*column) for column in columns]
        self._rows = rows

    def rows(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)


def shown(given: Any, width: int = 80) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(answer.Table(given))
    return out.getvalue().splitlines()


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    given = Given([("run", "VARCHAR"), ("n", "BIGINT")], [("a", 1), ("long", 2345)])
    assert shown(given) == ["run      n", "a        1", "long  2345"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (2413.33576552069, "2413.34"),
        (88_900_000.5, "88900000"),
        (4.2998e-07, "4.2998e-07"),
        (0.0, "0"),
        (float("nan"), "nan"),
        (True, "true"),
        ({"path": {"rtt": "30 ms"}}, '{"path": {"rtt": "30 ms"}}'),
        ("two\nlines", "two lines"),
        (datetime.datetime(2026, 1, 31, 12), "2026-01-31T12:00:00"),
    ],
)
def test_a_cell_is_one_line_of_what_matters(value: Any, text: str) -> None:
    assert shown(Given([("c", "X")], [(value,)]))[1] == text


def test_columns_that_do_not_fit_are_named_below() -> None:
    given = Given([(name, "VARCHAR") for name in ("first", "second", "third")], [("x" * 30, "y" * 30, "z")])
    header, row, note = shown(given, width=66)
    assert (len(header), len(row)) == (38, 62)
    assert note == "Not shown, for want of width: third."


def test_a_long_text_is_cut_and_the_last_column_made_narrower() -> None:
    given = Given([("a", "VARCHAR"), ("b", "VARCHAR")], [("x" * 100, "y" * 100)])
    assert shown(given, width=60)[1] == f"{'x' * 39}…  {'y' * 17}…"


def test_more_rows_than_one_reads_are_said_to_be_more() -> None:
    lines = shown(Given([("n", "BIGINT")], [(n,) for n in range(101)]))
    assert len(lines) == 102
    assert lines[-1] == "The first 100 rows; --csv or --json gives all."
    assert len(shown(Given([("n", "BIGINT")], [(n,) for n in range(100)]))) == 101


def test_no_rows_are_said_to_be_none() -> None:
    assert shown(Given([("n", "BIGINT")], [])) == ["n", "No rows."]


def test_csv_has_a_header_and_gives_back_what_was_said() -> None:
    rows = [('a,b\n"c"', 1.5, None, True, [1, "x"])]
    given: Any = Given([(name, "X") for name in ("text", "n", "none", "flag", "list")], rows)
    found = list(csv.reader(io.StringIO("".join(answer.csv_lines(given)))))
    assert found == [["text", "n", "none", "flag", "list"], ['a,b\n"c"', "1.5", "", "true", '[1, "x"]']]


def test_json_is_an_object_per_row_that_any_parser_takes() -> None:
    row = (float("inf"), Decimal("1.50"), datetime.date(2026, 1, 31), b"\xff", {"a": float("nan")}, 1, 2)
    names = ("inf", "decimal", "date", "bytes", "struct", "n", "n")
    given: Any = Given([(name, "X") for name in names], [row, row])
    lines = "".join(answer.json_lines(given)).splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0]) == {
        "inf": None,
        "decimal": 1.5,
        "date": "2026-01-31",
        "bytes": "\N{REPLACEMENT CHARACTER}",
        "struct": {"a": None},
        "n": 1,
        "n_1": 2,
    }
