"""Each `bentpipe run` of a page and of a lab's comment names a lab, keys and variants that there are."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bentpipe.lab.load import Lab
from bentpipe.sweep import run as runner
from invocation import called

ROOT = Path(__file__).parents[2]
LABS = {file.stem for file in (ROOT / "labs").glob("*.toml")}


def _texts() -> Iterator[tuple[str, str]]:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        yield page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8")
    for lab in (*(ROOT / "labs").glob("*.toml"), *(ROOT / "docs" / "examples").rglob("*.toml")):
        comments = re.findall(r"^#(.*)", lab.read_text(encoding="utf-8"), flags=re.M)
        yield lab.relative_to(ROOT).as_posix(), "\n".join(comments)


def _typed(text: str) -> Iterator[str]:
    """Command lines: in code between backticks, or a line of its own, also in several lines."""
    for code in re.findall(r"(?<!`)`(bentpipe run [^`]+)`(?!`)", text):
        yield " ".join(code.split())
    joined = re.sub(r"\\\n *", "", text)
    yield from re.findall(r"^[#$ ]*(?:time )?(bentpipe run [^`\n]+)$", joined, flags=re.M)


def _arguments(line: str) -> list[str]:
    """Without the next command, and without what a lab's comment says behind it."""
    return shlex.split(re.split(r"\s{3,}| && ", line)[0], comments=True)[1:]


def _commands() -> list[tuple[str, list[str]]]:
    found = [(place, _arguments(line)) for place, text in _texts() for line in _typed(text)]
    return [
        (place, arguments)
        for place, arguments in found
        if arguments[1] in LABS or arguments[1].startswith("docs/examples/")
    ]


COMMANDS = _commands()


def test_the_pages_of_labs_have_such_commands() -> None:
    pages = {place for place, _ in COMMANDS}
    assert {f"docs/labs/{lab}.md" for lab in LABS} <= pages
    assert {"README.md", "docs/coding.md", "docs/sim.md", "docs/live.md", "docs/accuracy.md"} <= pages


@pytest.mark.parametrize(
    "arguments",
    [arguments for _, arguments in COMMANDS],
    ids=[f"{place} {' '.join(arguments)}" for place, arguments in COMMANDS],
)
def test_a_run_that_a_page_shows_can_begin(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class PlannedError(Exception):
        pass

    def plan(lab: Lab, **_: Any) -> Any:
        raise PlannedError(len(list(lab.cells())))

    monkeypatch.setattr(runner, "execute", plan)
    with pytest.raises(PlannedError) as planned:
        called(arguments, ROOT)
    assert planned.value.args[0] > 0
