"""What a person is told who does not know yet what to type."""

import re
import shlex

from invocation import Command

from bentpipe.cli.commands import COMMANDS
from bentpipe.cli.group import FIRST_STEPS, loaded
from bentpipe.lab.shipped import shipped_labs


def test_bentpipe_alone_says_what_to_do_first(run: Command) -> None:
    said = run()
    assert (said.status, said.stdout) == (2, "")
    assert said.stderr == FIRST_STEPS + "\n"


def test_each_command_that_is_named_there_exists_with_its_options() -> None:
    named = re.findall(r"^  bentpipe (.*?)(?:  .*)?$", FIRST_STEPS, re.MULTILINE)
    assert len(named) > 4
    for line in named:
        name, *arguments = shlex.split(line)
        assert name in COMMANDS
        known = {option for each in loaded(name).params for option in each.opts}
        assert {each for each in arguments if each.startswith("--")} <= known


def test_run_without_a_lab_lists_the_labs(run: Command) -> None:
    said = run("run")
    assert (said.status, said.stdout) == (2, "")
    assert "found no LAB" in said.stderr
    assert all(f"\n  {name} " in said.stderr for name in shipped_labs())
