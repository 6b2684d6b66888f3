"""A cache that nothing goes through is named before a run begins."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bentpipe.lab import unused
from bentpipe.lab.load import Lab
from invocation import called

LAB = """
duration = "1 s"
[path]
rtt = "40 ms"
rate = "10 Mbit/s"
[near.cache]
size = "1 MB"
"""
BULK = '[[workload]]\nname = "download"\nkind = "bulk"\n'
FETCH = '[[workload]]\nname = "fetch"\nkind = "http"\nsize = "1 MB"\n'
Write = Callable[[str], Path]
SWITCHED = '[sweep]\n"workload.fetch.enabled" = [true, false]\n'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def lab(more: str) -> Path:
        (file := tmp_path / "lab.toml").write_text(LAB + more)
        return file

    return lab


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (BULK, 'near.cache: only workloads of kind "http" use the cache, and there is none; it does nothing'),
        (BULK + FETCH + SWITCHED, "there is none in 1 of 2 points; it does nothing"),
    ],
)
def test_a_cache_without_fetches_is_said_to_do_nothing(write: Write, more: str, words: str) -> None:
    found = unused.warning(Lab.load(write(more)).cells())
    assert found is not None
    assert found.endswith(words)


def test_of_a_cache_that_is_used_nothing_is_said(write: Write) -> None:
    assert unused.warning(Lab.load(write(BULK + FETCH)).cells()) is None


def test_a_run_warns_before_it_begins(write: Write, tmp_path: Path) -> None:
    command = ["run", str(write(BULK)), "--engine", "sim", "--out", str(tmp_path / "out")]
    done = called(command, tmp_path)
    assert done.status == 0
    assert "near.cache: only workloads" in " ".join(done.stderr.split())
