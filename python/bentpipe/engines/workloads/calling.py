"""The program of `call`, as `live` starts it at both hosts: it sends datagrams at a fixed interval, and notes
those that come. It needs nothing but Python's own library.

    calling.py OWN_ADDRESS PEER_ADDRESS PORT PAYLOAD START_NS INTERVAL_NS COUNT UNTIL_NS

START_NS and UNTIL_NS are instants of the monotonic clock, which all hosts share: it sends from the first on,
COUNT datagrams of PAYLOAD bytes, and listens until the second. With `-` as PEER_ADDRESS it sends to where the
first datagram came from, and none before that. It prints a JSON object. `sent_ns` has the instant before
each datagram was sent, in their order. `listens_ns` is the instant from which datagrams could come, or null.
`came` has, of each that came, its place in the other side's order and the instant at which it was read.
`error` is what went wrong, or null. Interrupted (SIGINT), it prints what it has.

A datagram begins as RTP does (RFC 3550, section 5.1): version 2, payload type 0 (G.711), a sequence number.
The timestamp has the datagram's place.
"""

import contextlib
import json
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

_HEADER = struct.Struct("!BBHII")
_VERSION = 0x80
_SOURCE = 0x62656E74
_MOST_BYTES = 1 << 16
WHO_CALLS = "-"


class Caller:
    def __init__(self, payload_bytes: int, start_ns: int, interval_ns: int, count: int) -> None:
        self._payload_bytes = payload_bytes
        self._start_ns = start_ns
        self._interval_ns = interval_ns
        self._count = count
        self.listens_ns: int | None = None
        self._to: tuple[Any, ...] | None = None
        self.sent_ns: list[int] = []
        self.came: list[tuple[int, int]] = []

    def run(self, own: str, peer: str, port: int, until_ns: int) -> None:
        """Return at `until_ns`. Raises OSError if the socket fails."""
        family = socket.AF_INET6 if ":" in own else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as voice:
            voice.bind((own, port))
            voice.setblocking(False)
            self._to = None if peer == WHO_CALLS else (peer, port)
            self.listens_ns = time.monotonic_ns()
            while (now_ns := time.monotonic_ns()) < until_ns:
                due_ns = self._next_ns()
                if due_ns <= now_ns:
                    self._send(voice, now_ns)
                    continue
                select.select([voice], [], [], (min(due_ns, until_ns) - now_ns) / 1e9)
                self._take(voice)

    def _next_ns(self) -> int:
        if self._to is None:
            return sys.maxsize
        place = len(self.sent_ns)
        return self._start_ns + place * self._interval_ns if place < self._count else sys.maxsize

    def _send(self, voice: socket.socket, now_ns: int) -> None:
        assert self._to is not None
        place = len(self.sent_ns)
        header = _HEADER.pack(_VERSION, 0, place & 0xFFFF, place & 0xFFFFFFFF, _SOURCE)
        self.sent_ns.append(now_ns)
        # A datagram for which the device has no room, or that nobody takes yet, is lost as any other.
        with contextlib.suppress(BlockingIOError, ConnectionError):
            voice.sendto(header.ljust(self._payload_bytes, b"\0"), self._to)

    def _take(self, voice: socket.socket) -> None:
        while True:
            try:
                heard, sender = voice.recvfrom(_MOST_BYTES)
            except BlockingIOError:
                return
            except ConnectionError:
                continue
            now_ns = time.monotonic_ns()
            if len(heard) >= _HEADER.size:
                *_, place, source = _HEADER.unpack_from(heard)
                if source == _SOURCE:
                    self.came.append((place, now_ns))
                    if self._to is None:
                        self._call_back(sender, now_ns)

    def _call_back(self, sender: tuple[Any, ...], now_ns: int) -> None:
        """Datagrams that were due before are not sent."""
        self._to = sender
        missed = max(0, -((self._start_ns - now_ns) // self._interval_ns))
        self._start_ns += missed * self._interval_ns
        self._count = max(0, self._count - missed)


def main(argv: list[str]) -> None:
    own, peer, *numbers = argv
    port, payload_bytes, start_ns, interval_ns, count, until_ns = map(int, numbers)
    caller = Caller(payload_bytes, start_ns, interval_ns, count)
    said: dict[str, Any] = {"error": None}
    try:
        try:
            caller.run(own, peer, port, until_ns)
        except OSError as error:
            said["error"] = str(error)
        # The run ends just when this program does. What it says is not to be cut.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    said |= {"listens_ns": caller.listens_ns, "sent_ns": caller.sent_ns, "came": caller.came}
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
