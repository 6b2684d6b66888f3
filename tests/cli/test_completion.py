"""What Tab offers, asked as the completion script of a shell asks."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bentpipe.cli.commands import COMMANDS
from invocation import PLAIN, Command, Said, called, started

VARIANTS = PLAIN + '[[variant]]\nname = "8 streams"\nset = { "host.sack" = false }\n'


def offered(folder: Path, *words: str, by: Callable[..., Said] = called) -> list[str]:
    asked = {
        "COMP_WORDS": " ".join(["bentpipe", *words]),
        "COMP_CWORD": str(len(words)),
        "_BENTPIPE_COMPLETE": "complete_bash",
    }
    said = by([], folder, env=os.environ | asked)
    assert said.stderr == ""
    return [line for line in said.stdout.split("\n") if line]


def test_labs_and_lab_files_are_offered(tmp_path: Path) -> None:
    (tmp_path / "effort.toml").write_text(PLAIN)
    assert offered(tmp_path, "run", "eff") == ["effects-of-latency", "effort.toml"]
    assert offered(tmp_path, "shell", "eff") == ["effects-of-latency", "effort.toml"]


@pytest.mark.parametrize("by", [started, called])
def test_engines_and_commands_are_offered(tmp_path: Path, by: Callable[..., Said]) -> None:
    assert offered(tmp_path, "run", "--engine", "", by=by) == ["live", "sim"]
    assert "compare" in offered(tmp_path, "comp", by=by)


def test_every_command_is_offered_by_its_beginning(tmp_path: Path) -> None:
    assert sorted(offered(tmp_path, "")) == sorted(COMMANDS)
    assert sorted(offered(tmp_path, "ex")) == ["explain", "export"]


def test_a_first_lab_is_offered_its_presets_and_its_works(tmp_path: Path) -> None:
    assert offered(tmp_path, "new", "--preset", "trans") == ["transatlantic", "transpacific"]
    assert offered(tmp_path, "new", "--work", "do") == ["download"]
    assert "--rate-up" in offered(tmp_path, "new", "--rate")


def test_the_variants_of_the_lab_before_are_offered_as_they_must_be_typed(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(VARIANTS)
    assert offered(tmp_path, "run", "my.toml", "--variant", "") == ["as\\ is", "8\\ streams"]
    assert offered(tmp_path, "run", "my.toml", "--variant", "8") == ["8\\ streams"]


@pytest.mark.parametrize("content", ["title = ", "variant = 3", "[[variant]]\nset = {}", "\udcff"])
def test_a_lab_that_cannot_be_read_offers_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "my.toml").write_text(content, errors="surrogateescape")
    assert offered(tmp_path, "run", "my.toml", "--variant", "") == []


def test_the_script_for_a_shell_can_be_printed(run: Command) -> None:
    said = run(
        "--show-completion", "bash", env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    )
    assert said.status == 0
    assert "complete -o default -F _bentpipe_completion bentpipe" in said.stdout
