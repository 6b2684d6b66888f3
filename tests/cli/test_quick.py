"""A command line that is read without typer gives the values that typer gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentpipe.cli.group import loaded
from bentpipe.cli.quick import plainly

WORDS = [
    "--rate",
    "--rate=20Mbit/s",
    "--rtt",
    "--rtt=",
    "411ms",
    "--streams",
    "--json",
    "--json=1",
    "--engine",
    "--engine=live",
    "sim",
    "other",
    "--set",
    "path.rtt=1 s",
    "--variant",
    "as is",
    "--seed",
    "--repeat",
    "--jobs",
    "--most",
    "--again",
    "failed",
    "--quiet",
    "-q",
    "-qq",
    "--out",
    "--let-sleep",
    "--point",
    "0",
    "3",
    "007",
    "1_0",
    "-1",
    "٣",
    "--",
    "-",
    "",
    "--help",
    "--no-such",
]


def by_typer(name: str, words: list[str]) -> dict[str, object] | None:
    """None where it refuses, helps or ends."""
    try:
        found = loaded(name).make_context(name, list(words)).params
    except (Exception, SystemExit):
        return None
    # The command gets no list as None, and others as lists (typer.main.get_callback).
    return {key: (list(each) or None) if isinstance(each, tuple) else each for key, each in found.items()}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("calc", ["--rate", "20Mbit/s", "--rtt=411ms", "--streams", "4", "--json"]),
        ("run", ["effects-of-latency", "--set", "a=1", "--set=b=2", "--engine", "live", "-q", "--jobs=2"]),
        ("run", []),
        ("run", ["lab.toml", "--again", "failed", "--variant", "as is", "--seed", "7"]),
        ("explain", ["runs/x", "--most", "3", "--point", "path.rtt=1 s"]),
    ],
)
def test_a_plain_line_is_read_as_typer_reads_it(name: str, words: list[str]) -> None:
    assert plainly(name, words) is not None
    assert plainly(name, words) == by_typer(name, words)


@given(st.sampled_from(["calc", "run", "explain"]), st.lists(st.sampled_from(WORDS), max_size=7))
def test_whatever_is_read_without_typer_typer_reads_the_same(name: str, words: list[str]) -> None:
    found = plainly(name, words)
    if found is not None:
        assert found == by_typer(name, words)


@pytest.mark.parametrize(
    "words",
    [["--repeat", "0"], ["--jobs", "-1"], ["--engine", "other"], ["a", "b"], ["--help"], ["--set"], ["--"]],
)
def test_a_fault_and_help_are_left_to_typer(words: list[str]) -> None:
    assert plainly("run", words) is None
