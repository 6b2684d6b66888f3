"""Which folders `bentpipe report` takes: one, several, or the newest."""

import os
from pathlib import Path

import pytest

from invocation import Command


@pytest.fixture
def runs(run: Command, tmp_path: Path) -> Path:
    """Two sweeps in runs/, the second of which is the newer."""
    for number, name in enumerate(("one", "two")):
        assert run("run", "plain.toml", "--engine", "sim", "--out", f"runs/{name}").status == 0
        for record in (tmp_path / "runs" / name).glob("*/run.json"):
            os.utime(record, (1e9 + number, 1e9 + number))
    return tmp_path / "runs"


def test_each_of_several_folders_gets_its_table_and_its_page(run: Command, runs: Path) -> None:
    said = run("report", "runs/one", "runs/two")
    assert said.status == 0, said.stderr
    assert said.stdout.count("A plain lab") == 2
    assert (runs / "one" / "report.html").exists()
    assert (runs / "two" / "report.html").exists()


def test_without_a_folder_the_newest_is_taken_and_named(run: Command, runs: Path) -> None:
    run("report", "runs/one")  # a page is no run
    (runs / "notes").mkdir()
    said = run("report")
    assert said.status == 0, said.stderr
    assert "The newest runs are in runs/two." in said.stderr
    assert (runs / "two" / "report.html").exists()


def test_without_any_runs_the_folder_is_asked_for(run: Command) -> None:
    said = run("report")
    assert (said.status, said.stdout) == (2, "")
    assert "bentpipe report DIR" in said.stderr


def test_one_file_for_two_folders_is_refused(run: Command, runs: Path) -> None:
    said = run("report", "runs/one", "runs/two", "--html", "page.html")
    assert said.status == 2
    assert "--html is for one folder; 2 are given" in said.stderr
    assert not list(runs.glob("*/report.html"))


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("runs", "runs is a folder; expected the name of a file, such as report.html"),
        ("nowhere/page.html", "nowhere/page.html: there is no folder nowhere"),
    ],
)
def test_a_page_that_cannot_be_a_file_is_refused(run: Command, runs: Path, file: str, words: str) -> None:
    said = run("report", "runs/one", "--html", file)
    assert (said.status, said.stderr.splitlines()[-1]) == (2, f"bentpipe: {words}")
    assert not list(runs.parent.rglob("*.part"))


def test_a_page_for_which_the_disk_has_no_room_is_named_and_not_left_half_written(
    run: Command, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as half:
            half.write(content[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    said = run("report", "runs/one")
    assert said.status == 1
    assert said.stderr.endswith("bentpipe: runs/one/report.html: No space left on device\n")
    assert not list(runs.glob("one/*report*"))
