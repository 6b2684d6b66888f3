"""The lab file that the playground offers is the run that it shows."""

import json
from pathlib import Path

import pytest
from node_programs import ran
from requests_of_labs import request_of

import bentpipe


def test_a_lab_file_asks_the_simulator_for_the_run_that_was_drawn(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    lines = tmp_path / "labs"
    ran(pytestconfig.rootpath, pytestconfig.rootpath / "tests/web/labs.ts", tmp_path, str(lines))
    made = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(made) > 50
    for each in made:
        (point,) = bentpipe.Lab.loads(each["lab"]).points()
        assert request_of(point) == each["request"], each["lab"]
