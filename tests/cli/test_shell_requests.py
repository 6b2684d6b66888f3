"""What `bentpipe shell` refuses, before it makes a path."""

import os

import pytest

from invocation import Command


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (
            ["plain.toml", "--host", "near", "--", "true"],
            "--host near: the lab has no near host; expected client or server",
        ),
        (["plain.toml", "--host", "middle"], "expected one of client, near, server"),
        (["plain.toml", "--listen", "ftp"], "expected one of iperf3, http, none"),
        (["plain.toml", "--", "no-such-program"], "program not found: no-such-program"),
    ],
)
def test_what_a_shell_cannot_be_is_refused(run: Command, arguments: list[str], named: str) -> None:
    said = run("shell", *arguments)
    assert (said.status, said.stdout) == (2, "")
    assert named in said.stderr


def test_a_missing_program_of_a_command_or_a_server_is_named_with_its_package(run: Command) -> None:
    nothing = {**os.environ, "PATH": "/nowhere"}
    for arguments in (["--", "iperf3", "-c", "server"], ["--listen", "iperf3"]):
        said = run("shell", "plain.toml", *arguments, env=nothing)
        assert said.status == 2
        assert "program not found: iperf3" in said.stderr
        assert "sudo apt-get install iperf3" in said.stderr
