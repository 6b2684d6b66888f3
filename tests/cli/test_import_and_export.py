"""`bentpipe import` and `bentpipe export` as a user meets them."""

import json
from pathlib import Path

from invocation import Command

SAMPLES = Path(__file__).parents[1] / "interchange" / "samples"


def test_imported_runs_are_said_on_stdout_and_the_rest_on_stderr(run: Command) -> None:
    said = run("import", str(SAMPLES / "up.json"), str(SAMPLES / "down.json"), "--out", "out")
    assert said.status == 0, said.stderr
    assert [line.split("  ")[0] for line in said.stdout.splitlines()] == [
        "out/001_as-is_up",
        "out/002_as-is_down",
    ]
    assert "count as repeats of one thing, but differ in work" in said.stderr
    again = run("import", str(SAMPLES / "up.json"), "--out", "out")
    assert (again.status, again.stdout) == (0, "")
    assert "is there already, as 001_as-is_up; it is not counted again" in again.stderr
    assert "imported" in run("report", "out").stdout


def test_a_file_that_cannot_be_read_is_one_line_and_status_2(run: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"a": 1}')
    said = run("import", str(SAMPLES / "up.json"), "notes.json", "--out", "out")
    assert (said.status, said.stdout) == (2, "")
    assert said.stderr == (
        "bentpipe: notes.json: found JSON of an unknown program; expected iperf3's JSON (iperf3 -J) or "
        "flent's data file (.flent.gz)\n"
    )
    assert not (tmp_path / "out").exists()


def test_a_point_is_key_and_value(run: Command, tmp_path: Path) -> None:
    wrong = run("import", str(SAMPLES / "up.json"), "--out", "out", "--point", "rtt")
    assert wrong.status == 2
    assert wrong.stderr == 'bentpipe: --point: found "rtt"; expected KEY=VALUE, such as path.rtt="550 ms"\n'
    points = ["--point", "path.rtt=9 ms", "--point", "workload.upload.streams=1"]
    run("import", str(SAMPLES / "up.json"), "--out", "out", *points)
    (record,) = (tmp_path / "out").glob("*/run.json")
    assert json.loads(record.read_text())["point"] == {"path.rtt": "9 ms", "workload.upload.streams": 1}


def test_an_export_says_what_it_wrote_and_never_writes_over_it(run: Command) -> None:
    run("import", str(SAMPLES / "up.json"), "--out", "out")
    arguments = ("export", "out", "--csv", "tables", "--table", "flows", "--flent", "flent")
    said = run(*arguments)
    assert said.status == 0, said.stderr
    assert said.stdout.split() == ["tables/flows.csv", "flent/001_as-is_up.flent.gz"]
    again = run(*arguments)
    assert (again.status, again.stdout) == (2, "")
    assert again.stderr == "bentpipe: tables/flows.csv: exists already; add --force to overwrite it\n"
    assert run(*arguments, "--force").status == 0


def test_an_export_to_nowhere_is_refused(run: Command) -> None:
    said = run("export", "out")
    assert said.status == 2
    assert "export needs --csv FOLDER or --flent FOLDER" in said.stderr


def test_a_comparison_with_imported_runs_says_so(run: Command) -> None:
    run("import", str(SAMPLES / "up.json"), "--out", "before")
    run("import", str(SAMPLES / "up_by_client.json"), "--out", "after")
    said = run("compare", "before", "after")
    assert said.status == 0, said.stderr
    assert said.stderr == "Imported: before, after. Their measurement error is unknown.\n"
