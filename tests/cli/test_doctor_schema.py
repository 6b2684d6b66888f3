"""What `bentpipe doctor --json` prints has the shape that `bentpipe schema doctor` says."""

import json
from pathlib import Path

import pydantic
import pytest

from bentpipe.doctor.report_shape import Report, json_schema
from invocation import Command

COMMITTED = Path(__file__).parents[2] / "docs" / "doctor.schema.json"
LAB = '[path]\nrtt = "20 ms"\nrate = "5 Mbit/s"\n[[workload]]\nname = "get"\nkind = "http"\nsize = "500 kB"\n'


def test_a_runs_report_has_the_shape_and_none_else(run: Command, tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text('duration = "2 s"\n' + LAB)
    assert run("run", "lab.toml", "--engine", "sim", "--out", "out", "-q").status == 0
    report = json.loads(run("doctor", "out", "--json").stdout)
    assert Report.model_validate(report, strict=True).transfers[0].findings
    for other in (report | {"more": 1}, {key: value for key, value in report.items() if key != "path"}):
        with pytest.raises(pydantic.ValidationError):
            Report.model_validate(other)


def test_the_schema_that_is_printed_is_that_of_the_pages(run: Command) -> None:
    printed = json.loads(run("schema", "doctor").stdout)
    assert printed == json_schema() == json.loads(COMMITTED.read_text(encoding="utf-8"))
