"""A program with the terminal: an interactive shell inside a host, with job control."""

import json
import os
import pty
import signal
import time
from pathlib import Path

import pytest
from hosting import Host
from pseudo_terminal import PseudoTerminal

from waiting import LONG_S

pytestmark = pytest.mark.live

SHELL = ["bash", "--norc", "--noprofile", "-i"]


class Terminal(PseudoTerminal):
    """A pseudo-terminal, and on it a session that holds a host process with a shell in it."""

    def __init__(self, user: str, tmp_path: Path) -> None:
        pid, self.master = pty.fork()
        if pid == 0:
            os.environ |= {"PS1": "ready> ", "TERM": "dumb"}
            os._exit(drive(user, tmp_path))
        self.session = pid


class HostHere(Host):
    """In the session of whoever starts it, with its terminal."""

    in_new_session = False


def drive(user: str, tmp_path: Path) -> int:
    with HostHere(user) as host:
        host.setup()
        host.start()
        host.spawn("shell", "client", SHELL, tty=True, stdout=None, stderr=None)
        end = host.hear()
        host.say("stop")
        host.hear()
        host.process.wait(LONG_S)
    foreground = os.tcgetpgrp(0) == os.getpgrp()
    (tmp_path / "end").write_text(json.dumps({**end, "foreground": foreground}))
    os.write(1, b"driver ended\n")
    time.sleep(1000)
    return 0


def test_a_shell_has_job_control_and_gives_the_terminal_back(user: str, tmp_path: Path) -> None:
    terminal = Terminal(user, tmp_path)
    try:
        assert terminal.shows("ready> ")
        terminal.type("getent ahostsv4 client | head -1\n")
        assert terminal.shows("10.77.0.1")
        # The quotes keep what is typed apart from what is printed.
        terminal.type("sh -c 'echo be\"\"gun; exec sleep 1000'\n")
        assert terminal.shows("begun")
        terminal.type("\x03")
        assert terminal.shows("ready> ")
        terminal.type("sh -c 'echo an\"\"other; exec sleep 1000'\n")
        assert terminal.shows("another")
        terminal.type("\x1a")
        assert terminal.shows("Stopped")
        terminal.type("kill -9 %1; fg; exit 7\n")
        assert terminal.shows("driver ended"), terminal.seen
    finally:
        os.kill(terminal.session, signal.SIGKILL)
        os.waitpid(terminal.session, 0)
        os.close(terminal.master)
    end = json.loads((tmp_path / "end").read_text())
    assert (end["id"], end["status"]) == ("shell", 7)
    assert end["foreground"]
