"""The two programs of `interactive`, as `live` starts them at the hosts: a client that writes messages, and a
server that answers each with as many bytes. It needs nothing but Python's own library.

    echoing.py server ADDRESS PORT SIZE
    echoing.py client ADDRESS PORT SIZE START_NS TIMES

START_NS is an instant of the monotonic clock, which all hosts share. TIMES is a file with a JSON list: when
each message is to be written, in nanoseconds from the first. The client prints a JSON object. `written_ns`
has the instant before each write, `answered_ns` the instant at which the last byte of each answer had been
read, in the messages' order. `error` is what went wrong, or null. Interrupted (SIGINT), it prints what it
has.
"""

import contextlib
import json
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

_READ_BYTES = 1 << 16


def serve(address: str, port: int, size: int) -> None:
    """Of one connection, to its end."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as listening:
        connection, _ = listening.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = answered = 0
        while heard := connection.recv(_READ_BYTES):
            asked += len(heard)
            if whole := asked // size - answered:
                answered += whole
                connection.sendall(bytes(whole * size))


class Client:
    def __init__(self, size: int, times_ns: list[int]) -> None:
        self._size = size
        self._times_ns = times_ns
        self._unsent = 0
        self._read = 0
        self._connected_ns = 0
        self.written_ns: list[int] = []
        self.answered_ns: list[int] = []

    def run(self, address: str, port: int, start_ns: int) -> None:
        """Return when all messages are answered. Raises OSError if the connection fails."""
        time.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
        with socket.create_connection((address, port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
            self._connected_ns = time.monotonic_ns()
            while len(self.answered_ns) < len(self._times_ns):
                self._wait(connection)
                self._write(connection)
                self._take(connection)

    def _wait(self, connection: socket.socket) -> None:
        """Until there is something to read, room for what is unsent, or a message to write."""
        place = len(self.written_ns)
        left_s = None
        if place < len(self._times_ns):
            due_ns = self._connected_ns + self._times_ns[place]
            left_s = max(0, due_ns - time.monotonic_ns()) / 1e9
        select.select([connection], [connection] if self._unsent else [], [], left_s)

    def _write(self, connection: socket.socket) -> None:
        while (place := len(self.written_ns)) < len(self._times_ns):
            now_ns = time.monotonic_ns()
            if now_ns < self._connected_ns + self._times_ns[place]:
                break
            self.written_ns.append(now_ns)
            self._unsent += self._size
            self._send(connection)
        if self._unsent:
            self._send(connection)

    def _send(self, connection: socket.socket) -> None:
        """As much as the send buffer takes."""
        with contextlib.suppress(BlockingIOError):
            self._unsent -= connection.send(bytes(self._unsent))

    def _take(self, connection: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            heard = connection.recv(_READ_BYTES)
            if not heard:
                raise ConnectionError("the server closed the connection")
            now_ns = time.monotonic_ns()
            self._read += len(heard)
            self.answered_ns += [now_ns] * (self._read // self._size - len(self.answered_ns))


def main(argv: list[str]) -> None:
    what, address, port, size, *more = argv
    if what == "server":
        serve(address, int(port), int(size))
        return
    start_ns, times = more
    client = Client(int(size), json.loads(Path(times).read_text(encoding="utf-8")))
    said: dict[str, Any] = {"error": None}
    try:
        try:
            client.run(address, int(port), int(start_ns))
        except OSError as error:
            said["error"] = str(error)
        # The run may end just when this program does. What it says is not to be cut.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    said |= {"written_ns": client.written_ns, "answered_ns": client.answered_ns}
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
