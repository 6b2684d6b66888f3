"""The command line on a pseudo-terminal."""

import os
import pty
import select
import struct
import subprocess
import sys
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

from waiting import LONG_S


class Terminal:
    """A command on a pseudo-terminal."""

    def __init__(
        self, arguments: list[str], folder: Path, columns: int, by: tuple[str, ...] = ("-m", "bentpipe")
    ) -> None:
        """`by`: what Python is to run."""
        master, slave = pty.openpty()
        ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, *by, *arguments],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment | {"TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(slave)
        self._master = master
        self.text = ""

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def read(self, until: str = "") -> str:
        """What was shown until the word stands there, or until the end. A missing word is a failure."""
        last = time.monotonic() + LONG_S
        while time.monotonic() < last and not (until and until in self.text):
            if select.select([self._master], [], [], 0.2)[0]:
                try:
                    more = os.read(self._master, 65536)
                except OSError:  # the other end has closed
                    break
                if not more:
                    break
                self.text += more.decode()
        assert until in self.text, f"never showed {until!r}: {self.text[-400:]!r}"
        return self.text
