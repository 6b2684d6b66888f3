"""A program that sends and one that reads, each of which burns the processor, sleeps or does neither."""

import sys
from pathlib import Path
from typing import NamedTuple

_SOURCE = """
import socket, subprocess, sys, time
def work(how):
    until = time.thread_time() + 0.01
    while how == "burns" and time.thread_time() < until:
        pass
    if how == "sleeps":
        time.sleep(0.01)
program, sends, reads, *port = sys.argv
if port:
    with socket.create_connection(("127.0.0.1", int(port[0]))) as client:
        while client.recv(50_000):
            work(reads)
    sys.exit()
with socket.create_server(("127.0.0.1", 0)) as listener:
    port = listener.getsockname()[1]
    reader = subprocess.Popen([sys.executable, program, sends, reads, str(port)])
    server = listener.accept()[0]
print(port, flush=True)
with server:
    for _ in range(300):
        server.sendall(bytes(50_000))
        work(sends)
reader.wait()
"""


class Case(NamedTuple):
    sends: str
    """What the sender does between two writes: `burns`, `sleeps` or `at once`."""
    reads: str
    """The same of the reader."""
    seen_from: str
    kind: str
    """What limits the transfer, as this end sees it."""


CASES = [
    Case("burns", "at once", "sender", "cpu"),
    Case("sleeps", "at once", "sender", "sender-application"),
    Case("at once", "burns", "receiver", "cpu"),
    Case("at once", "sleeps", "receiver", "receiver-application"),
    # The other end's programs are not seen from this one.
    Case("at once", "burns", "sender", "receiver-application"),
]


def two_programs(folder: Path, case: Case) -> list[str]:
    """Their command. It prints the server's port."""
    program = folder / "program.py"
    program.write_text(_SOURCE)
    return [sys.executable, str(program), case.sends, case.reads]
