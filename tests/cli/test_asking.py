"""`bentpipe query` as a user meets it."""

import csv
import io
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from invocation import Command, Said


@pytest.fixture
def swept(run: Command, tmp_path: Path) -> Path:
    lab = tmp_path / "plain.toml"
    lab.write_text(f'{lab.read_text()}\n[sweep]\n"path.rtt" = ["20 ms", "40 ms"]\n')
    assert run("run", "plain.toml", "--engine", "sim", "--out", "out", "--quiet").status == 0
    return tmp_path / "out"


def contents(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_a_question_is_answered_by_a_table_by_csv_and_by_json(run: Command, swept: Path) -> None:
    before = contents(swept)
    figures = "point.path.rtt as rtt, runs.workload.rtt.median_ms as ms, count(*) as n"
    sql = f"select {figures} from pings join runs using (run) group by all order by ms"
    table, as_csv, as_json = (run("query", "out", sql, *option) for option in ([], ["--csv"], ["--json"]))
    assert [said.status for said in (table, as_csv, as_json)] == [0, 0, 0]
    assert [line.split()[0] for line in table.stdout.splitlines()] == ["rtt", "20", "40"]
    rows = list(csv.DictReader(io.StringIO(as_csv.stdout)))
    assert [(row["rtt"], row["n"]) for row in rows] == [("20 ms", "3"), ("40 ms", "3")]
    assert [each["rtt"] for each in as_json.objects] == ["20 ms", "40 ms"]
    assert as_json.objects[0]["ms"] == pytest.approx(20, abs=1)
    assert (table.stderr, as_csv.stderr, as_json.stderr) == ("", "", "")
    assert contents(swept) == before, "a query only reads"


@pytest.mark.usefixtures("swept")
def test_without_a_question_the_tables_are_listed_and_the_questions_shown_can_be_asked(
    run: Command,
) -> None:
    listed = run("query", "out")
    assert listed.status == 0
    for words in (
        "runs  One row per run; 2 here.",
        "point.path.rtt",
        "workload.rtt.median_ms",
        "sockets  `TCP_INFO`",
    ):
        assert words in listed.stdout
    questions = " ".join(listed.stdout.partition("begin with:")[2].split()).split("bentpipe query out ")[1:]
    assert len(questions) == 3
    for question in questions:
        asked = run("query", "out", question.strip()[1:-1].replace('\\"', '"'))
        assert (asked.status, asked.stderr) == (0, "")


def one_message(said: Said) -> str:
    assert (said.status, said.stdout) == (2, "")
    assert said.stderr.startswith("bentpipe: ")
    assert "Traceback" not in said.stderr
    return said.stderr


def test_what_is_wrong_with_a_question_is_one_message_with_the_hint(run: Command, swept: Path) -> None:
    assert 'Candidate bindings: "seed"' in one_message(run("query", "out", "select sed from runs"))
    assert "a query only reads" in one_message(run("query", "out", f"copy runs to '{swept}/x.csv'"))
    assert "one of --csv and --json" in one_message(run("query", "out", "from runs", "--csv", "--json"))
    assert "nowhere: no such folder" in one_message(run("query", "nowhere", "from runs"))
    assert "nowhere: no such folder" in one_message(run("query", "out", "nowhere"))


@pytest.mark.usefixtures("swept")
def test_ctrl_c_ends_a_long_question(tmp_path: Path) -> None:
    endless = "select i from range(1_000_000_000_000_000) t(i) where i < 20000 or i % 7 = 9"
    command = [sys.executable, "-m", "bentpipe", "query", "out", endless, "--csv"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as asking:
        assert asking.stdout
        assert asking.stderr
        assert asking.stdout.readline() == "i\n"
        asking.send_signal(signal.SIGINT)
        said = asking.stderr.read()
    assert (asking.returncode, said) == (130, "bentpipe: interrupted\n")
