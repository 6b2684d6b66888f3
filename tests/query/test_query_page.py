"""docs/query.md: its questions can be asked, of the labs that it says."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from bentpipe import Lab, Results
from bentpipe.query.questions import Questions

_SHORT: Mapping[str, tuple[str, list[str]]] = {
    "runs/latency": (
        "effects-of-latency",
        ["path.rtt=550 ms", 'workload.download.time="2 s"', "path.rate=50 Mbit/s"],
    ),
    "runs/satellite": ("satellite-baselines", ["load=20 channels, 100 kB", 'duration="20 s"']),
}


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        name: Lab.load(lab, set=changes).run(engine="sim", out=folder / lab)
        for name, (lab, changes) in _SHORT.items()
    }


def test_every_question_of_the_page_has_an_answer(
    pytestconfig: pytest.Config, sweeps: dict[str, Results]
) -> None:
    page = (pytestconfig.rootpath / "docs" / "query.md").read_text(encoding="utf-8")
    asked = re.findall(r"```sql\n-- bentpipe query (\S+)\n(.*?)```\n```\n(.*?)\n", page, flags=re.S)
    assert len(asked) == 10
    for folder, sql, header in asked:
        with Questions.open([sweeps[folder]]) as questions:
            answer = questions.ask(sql)
            list(answer.rows())
        assert [column.name for column in answer.columns] == header.split()


def test_what_the_page_tells_python_to_do_can_be_done(
    pytestconfig: pytest.Config, sweeps: dict[str, Results], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = (pytestconfig.rootpath / "docs" / "query.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "latency").symlink_to(Path(str(sweeps["runs/latency"].folder)))
    monkeypatch.chdir(tmp_path)
    ours, pandas, _ = code.partition("import pandas")
    assert pandas
    exec(ours, {})
