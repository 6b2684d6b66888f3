"""The page on Python: its code runs in the order of the page, and it names all that is public."""

import re
from pathlib import Path
from typing import Any

import pytest

import bentpipe


@pytest.fixture
def page(pytestconfig: pytest.Config) -> str:
    return (pytestconfig.rootpath / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs_in_its_order(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = [(match[1], page.count("\n", 0, match.start(1))) for match in _blocks(page)]
    assert len(blocks) > 5
    for code, line in blocks:
        # Behind empty lines, so that a traceback names the page's own line.
        exec(compile("\n" * line + code, "docs/python.md", "exec"), names)
    assert names["compared"].met
    assert names["again"].records == names["kept"].records
    assert names["short"].points()[0].spec.base_rtt_ns == 300_000_000
    assert 'replace("path.rtt", 300): path.rtt: found 300, a number without a unit' in capsys.readouterr().out
    assert {"over-time.svg", "report.html", "runs"} == {file.name for file in tmp_path.iterdir()}


def test_the_page_names_everything_public(page: str) -> None:
    said = set(re.findall(r"`(\w+)`", page)) | set(re.findall(r"`bentpipe\.(\w+)", page))
    assert set(bentpipe.__all__) <= said


def test_what_results_and_labs_offer_is_on_the_page(page: str) -> None:
    own = {name for each in (bentpipe.Lab, bentpipe.Results) for name in vars(each) if name[0] != "_"}
    assert own
    assert {name for name in own if not re.search(rf"\b{name}\b", page)} == set()


def _blocks(page: str) -> "list[re.Match[str]]":
    return list(re.finditer(r"```python\n(.*?)```", page, flags=re.S))
