"""Host processes for the tests: as whoever runs them and, where that is root, as an ordinary user too.

Run as a program it starts one with programs in all four hosts of a split, and waits to be killed.
"""

import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from waiting import LONG_S

NOBODY = 65534

_CALL = """
import ctypes, os, stat, sys
from bentpipe import _core
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
"""

_COVER = """
# udev makes the device open to all; where it did not, cover it by one that is, for this process alone.
if not os.stat("/dev/net/tun").st_mode & stat.S_IWOTH:
    call("unshare", 0x00020000)
    call("mount", None, b"/", None, 0x4000 | 0x40000, None)
    call("mount", b"tmpfs", b"/mnt", b"tmpfs", 0, None)
    os.mknod("/mnt/tun", stat.S_IFCHR, os.makedev(10, 200))
    os.chmod("/mnt/tun", 0o666)
    call("mount", b"/mnt/tun", b"/dev/net/tun", None, 0x1000, None)
    call("umount2", b"/mnt", 2)
"""

_DROP = f"""
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
call("prctl", 4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: a process that changed its user may not map it otherwise
sys.exit(_core.live_host(int(sys.argv[1])))
"""

DROP_TO_ORDINARY = _CALL + _DROP
"""A program that goes from root to an ordinary user and becomes a host process. The interpreter may lie where
only root can start it."""


def command(user: str) -> list[str]:
    """What starts a host process as `root` (as whoever we are) or as an `ordinary` user."""
    if user == "ordinary" and os.geteuid() == 0:
        return [sys.executable, "-c", _CALL + _COVER + _DROP]
    return [sys.executable, "-m", "bentpipe.engines.live_host"]


class Host:
    """A host process and the control socket's other end."""

    in_new_session = True

    def __init__(self, user: str = "root", started_by: Sequence[str] | None = None) -> None:
        self.raw_folder = Path(tempfile.mkdtemp(prefix="bentpipe-test-"))
        self.raw_folder.chmod(0o777)
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [*(started_by or command(user)), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL if self.in_new_session else None,
                start_new_session=self.in_new_session,
            )
        ours.settimeout(LONG_S)
        self.control = ours
        self._lines = ours.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self.control.close()
        try:
            self.process.wait(LONG_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            shutil.rmtree(self.raw_folder, ignore_errors=True)

    def say(self, op: str, **fields: Any) -> None:
        self.control.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        """The next event; an empty one at the end."""
        line = self._lines.readline()
        return json.loads(line) if line else {}

    def setup(self, **changes: Any) -> dict[str, Any]:
        plain: dict[str, Any] = {"congestion_control": None, "initcwnd": None, "initrwnd": None, "sysctl": {}}
        request = {
            "hosts": {"client": plain, "server": plain},
            "path": {"down": {}, "up": {}, "mtu": 1500},
            "seed": 1,
            "sample_interval_ns": 100_000_000,
            "bin_ns": 100_000_000,
            "raw_folder": str(self.raw_folder),
            "pcap": [],
            "ip": [4, 6],
        }
        self.say("setup", **{**request, **changes})
        return self.hear()

    def start(self, zero_in_ns: int = 0) -> int:
        self.say("start", zero_in_ns=zero_in_ns)
        return int(self.hear()["zero_monotonic_ns"])

    def spawn(self, name: str, host: str, argv: Sequence[str], **changes: Any) -> dict[str, Any]:
        files = {
            "stdout": str(self.raw_folder / f"{name}.out"),
            "stderr": str(self.raw_folder / f"{name}.err"),
        }
        rest = {"env": None, "stdin": None, "cwd": None, "tty": False}
        self.say("spawn", **{"id": name, "host": host, "argv": list(argv), **files, **rest, **changes})
        return self.hear()

    def output(self, host: str, script: str) -> str:
        """What a shell script says inside a host, on stdout and stderr."""
        name = f"script {time.monotonic_ns()}"
        spawned = self.spawn(name, host, ["sh", "-c", f"exec 2>&1\n{script}"])
        assert spawned["event"] == "spawned", spawned
        assert self.hear()["event"] == "exited"
        return (self.raw_folder / f"{name}.out").read_text()

    def init(self) -> int | None:
        """The first process of the run's process namespace, where there is one yet."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        try:
            return next(map(int, children.read_text().split()), None)
        except OSError:
            return None


@functools.cache
def refusal(user: str) -> str | None:
    """Why there can be no host process of that user here, if so."""
    with Host(user) as host:
        answer = host.setup()
    return None if answer["event"] == "ready" else str(answer.get("message", answer))


def main() -> None:
    host = Host(sys.argv[1])
    Path(sys.argv[2]).write_text(str(host.raw_folder))
    host.setup(near={"host": {}, "down": {}, "up": {}}, split={"hosts": {}, "path": {}})
    host.start()
    host.spawn("a", "client", ["sh", "-c", "setsid sleep 1000 & exec sleep 1000"])
    host.spawn("b", "server", ["sleep", "1000"])
    host.spawn("c", "near", ["sleep", "1000"])
    host.spawn("d", "far", ["sleep", "1000"])
    time.sleep(1000)


if __name__ == "__main__":
    main()
