"""The pages for someone with a slow line: each command of them prints what the page shows."""

import os
import re
from pathlib import Path

import pytest
from test_readme_snippet import commands, shown

from invocation import called

RUNS = "the page's commands simulate minutes of several paths"

# Live; processes of their own; 15 runs of 300 s, which take longer than all others together; and what writes
# into the home of whoever runs the tests.
LEFT_OUT = ("shell", "live", "--jobs", "docs/examples/handovers.toml", "--install-completion")


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        pytest.param("why-slow.md", 3, marks=pytest.mark.long(RUNS)),
        pytest.param("recipes.md", 3, marks=pytest.mark.long(RUNS)),
        ("first-steps.md", 3),
        ("explain.md", 1),
        ("calc.md", 1),
    ],
)
def test_the_commands_of_a_page_print_what_it_shows(
    pytestconfig: pytest.Config, tmp_path: Path, name: str, outputs: int
) -> None:
    docs = pytestconfig.rootpath / "docs"
    page = (docs / name).read_text(encoding="utf-8")
    (tmp_path / "docs").symlink_to(docs)
    for file, lab in re.findall(r"```toml\n# (\S+\.toml)\n(.*?)```", page, flags=re.S):
        (tmp_path / file).write_text(lab, encoding="utf-8")
    typed = [(arguments, below) for arguments, below in commands(page) if not set(LEFT_OUT) & set(arguments)]
    assert sum(bool(below) for _, below in typed) >= outputs
    for arguments, below in typed:
        said = called(arguments, tmp_path, env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"})
        assert said.status == 0, said.stderr
        printed = shown(said.stdout)
        assert [line for line in below if line not in printed] == [], arguments
