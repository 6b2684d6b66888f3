"""`bentpipe shell`: what the other end serves, whose prompt is shown, and at which host one is."""

import os
import pty
import shutil
import signal
import sys
from pathlib import Path

import pytest
import real_runs
from pseudo_terminal import PseudoTerminal

from bentpipe.engines.shell_prompt import interactive

pytestmark = real_runs.LIVE

LAB = """
title = "A short path"
[path]
rtt = "20 ms"
rate = "50 Mbit/s"
[[workload]]
kind = "ping"
"""


class Terminal(PseudoTerminal):
    """A pseudo-terminal on which `bentpipe shell` runs."""

    def __init__(self, folder: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        (folder / "my lab.toml").write_text(LAB)
        pid, self.master = pty.fork()
        if pid == 0:
            os.chdir(folder)
            own = {"TERM": "dumb", "HOME": str(folder), **(env or {})}
            os.execve(
                sys.executable,
                [sys.executable, "-m", "bentpipe", "shell", "my lab.toml", *arguments],
                {**os.environ, **own},
            )
        self.pid = pid

    def status(self) -> int:
        while self.shows("\0", 0.2):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.master)


@pytest.mark.parametrize(
    ("shell", "startup"),
    [("bash", ".bashrc"), ("zsh", ".zshrc"), ("sh", None), ("fish", ".config/fish/config.fish")],
)
def test_the_prompt_names_host_and_lab_and_keeps_what_the_user_has_set(
    tmp_path: Path, shell: str, startup: str | None
) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not here")
    if startup:
        (tmp_path / startup).parent.mkdir(parents=True, exist_ok=True)
        own = "function fish_prompt; echo -n 'mine> '; end" if shell == "fish" else "PS1='mine> '"
        (tmp_path / startup).write_text(f"{own}\nalias greet='echo hel''lo'\n")
    terminal = Terminal(tmp_path, "--listen", "none", env={"SHELL": program, "ZDOTDIR": str(tmp_path)})
    try:
        assert terminal.shows("You are at `client` of the lab my lab."), terminal.seen
        assert terminal.shows("[client my-lab] mine> " if startup else "[client my-lab] "), terminal.seen
        if startup:
            terminal.type("greet\n")
            assert terminal.shows("hello"), terminal.seen
        terminal.type("exit 3\n")
        assert terminal.status() == 3
    finally:
        terminal.close()


def test_the_other_end_serves_iperf3_and_files_and_says_so(tmp_path: Path) -> None:
    if not (shutil.which("iperf3") and shutil.which("nginx", path=real_runs.PROGRAMS)):
        pytest.skip("iperf3 or nginx is not here")
    terminal = Terminal(tmp_path, "--host", "server", env={"SHELL": "/bin/sh"})
    try:
        assert terminal.shows("You are at `server`"), terminal.seen
        assert terminal.shows("Servers are running at client"), terminal.seen
        assert terminal.shows("iperf3 -c client"), terminal.seen
        assert terminal.shows("http://client/10MB"), terminal.seen
        terminal.type("iperf3 -c client -n 10K; echo sta''tus $?; curl -s http://client/1MB | wc -c\n")
        assert terminal.shows("status 0"), terminal.seen
        assert terminal.shows("1000000"), terminal.seen
        terminal.type("getent ahostsv4 server | head -1; exit\n")
        assert terminal.shows("10.77.0.2"), terminal.seen
        assert terminal.status() == 0
    finally:
        terminal.close()


def test_a_name_of_a_lab_is_not_expanded_in_a_prompt(tmp_path: Path) -> None:
    start = interactive("/bin/bash", tmp_path, host="client", lab="$(touch /tmp/x) `id` \\w")
    assert start.env["BENTPIPE_PROMPT"] == "[client -touch-tmp-x-id-w] "
