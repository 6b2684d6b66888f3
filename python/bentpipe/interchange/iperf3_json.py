"""iperf3's JSON (`-J`, or `--json-stream`) as runs, from either end's file.

Source: iperf 3.12, src/iperf_api.c, and files that it wrote.
1. The client is who connected, whichever end wrote; `up` is what it sends. With `--bidir` there is one
   transfer each way, the way back under keys that end in `_bidir_reverse`.
2. Goodput is the receiver's where the file has it. A server does not learn what a client received: its file
   then says what was sent, and the entry `"by": "sender"`. Intervals are always of the end that wrote.
3. Of what it does not know iperf3 writes 0: the window and round trip of a socket that only receives, bytes
   of an end that did not report. These are null here.
4. Windows are written in bytes; in segments they are known where a segment's size divides them.
5. An omitted beginning comes first on the run's clock, and counts in no figure.
6. An end that is interrupted may write its last interval twice.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bentpipe.interchange.foreign import Found
from bentpipe.interchange.imported import Imported, Row, mbit_s, spread_over_seconds
from bentpipe.runs.figures.times import seconds_goodput
from bentpipe.words.direction import Direction

TOOL = "iperf3"
_WAY_BACK = "_bidir_reverse"
_HEADERS_BYTES = {4: (52, 40), 6: (72, 60)}
"""IP and TCP, with timestamps and without."""


def recognises(document: Found) -> bool:
    if not isinstance(document.value, dict):
        return False
    if document.value.get("event") == "start":
        return True
    return {"start", "intervals", "end"} <= set(document.value)


def runs(parts: Sequence[tuple[str, Found]]) -> Iterator[Imported]:
    """One for each test in the file."""
    for text, document in _whole(parts):
        yield _run(text, document)


def _whole(parts: Sequence[tuple[str, Found]]) -> Iterator[tuple[str, Found]]:
    """Each test's document; of a stream of events, put together from them."""
    texts: list[str] = []
    document: dict[str, Any] = {}
    file = ""
    for text, part in parts:
        file = part.file
        event = part["event"].text()
        if document and event in {None, "start"}:
            yield "\n".join(texts), Found(document, file)
            texts, document = [], {}
        if event is None:
            if not recognises(part):
                raise part.fault("expected a test's start, intervals and end", "no test of iperf3")
            yield text, part
            continue
        if event != "start" and not document:
            raise part.fault('expected "start" as the first event', f'the event "{event}"')
        texts.append(text)
        if event == "start":
            document = {"start": part["data"].value, "intervals": [], "end": {}}
        elif event == "interval":
            document["intervals"].append(part["data"].value)
        elif event in {"end", "error"}:
            document[event] = part["data"].value
    if document:
        yield "\n".join(texts), Found(document, file)


def _run(text: str, document: Found) -> Imported:
    start = document["start"]
    error = document["error"].text()
    if "test_start" not in start:
        said = f"a test that did not begin ({error})" if error else "a test that did not begin"
        raise start["test_start"].fault("expected a test that carried something", said)
    protocol = start["test_start"]["protocol"].text()
    if protocol not in {"TCP", "UDP"}:
        raise start["test_start"]["protocol"].fault("expected TCP or UDP")
    version = start["version"].text() or ""
    cookie = start["cookie"].text()
    run = Imported(
        tool=TOOL,
        version=version.removeprefix("iperf ") or None,
        test=f"iperf3 {cookie}" if cookie else text,
        text=text,
        title=document["title"].text() or start["title"].text(),
        host=_peer(start),
        local_host=_first_text(start["connected"], "local_host"),
        started=start["timestamp"]["timesecs"].moment(),
        kernel=_kernel(start["system_info"].text()),
        failed=bool(error),
        why=[f"iperf3: {error}"] if error else [],
    )
    both_ways = any(f"sum{_WAY_BACK}" in each for each in document["intervals"].elements())
    both_ways = both_ways or f"sum_sent{_WAY_BACK}" in document["end"]
    for suffix in ("", _WAY_BACK) if both_ways else ("",):
        _Way(document, suffix, both_ways).take_to(run)
    return run


class _Way:
    """One direction of a test."""

    def __init__(self, document: Found, suffix: str, both_ways: bool) -> None:
        start = document["start"]
        asked = start["test_start"]
        self._document, self._suffix = document, suffix
        self._udp = asked["protocol"].text() == "UDP"
        reverse = bool(asked["reverse"].flag())
        self.direction = Direction.DOWN if reverse or suffix else Direction.UP
        self.name = "download" if self.direction is Direction.DOWN else "upload"
        self._is_client = "connecting_to" in start
        self._sends = self._is_client == (self.direction is Direction.UP)
        self._omit_s = asked["omit"].seconds() or 0.0
        self._intervals = list(_once(document["intervals"].elements(), f"sum{suffix}"))
        self._both_ways = both_ways
        self._told = self._is_client and "error" not in document
        """Whether the end that wrote has the other's results: a server never has."""

    def take_to(self, run: Imported) -> None:
        end, asked = self._document["end"], self._document["start"]["test_start"]
        streams = asked["num_streams"].count() or 1
        received, sent = (end[f"sum_{which}{self._suffix}"] for which in ("received", "sent"))
        carried, seconds, by = self._carried(received, sent)
        size_bytes = asked["bytes"].count() or None
        finished = not run.why and "end" in received
        seconds_mbit_s = [] if self._udp and self._sends else self._per_second()
        entry: Row = {
            "kind": "bulk",
            "direction": self.direction.value,
            "streams": streams,
            "goodput_mbit_s": mbit_s(carried, seconds),
            "bytes": carried,
            "duration_s": seconds,
            "completion_s": seconds if size_bytes and finished and not self._omit_s else None,
            "retransmits": None if self._udp else _known_count(sent["retransmits"]),
            "per_second": seconds_goodput(seconds_mbit_s),
            "per_second_mbit_s": seconds_mbit_s,
            "protocol": "udp" if self._udp else "tcp",
            "by": by,
        }
        if self._udp:
            total = received if "packets" in received else end["sum"]
            entry |= {
                "packets": total["packets"].count(),
                "lost_packets": _known_count(total["lost_packets"]),
                "jitter_ms": total["jitter_ms"].positive(),
            }
        if run.why:
            entry["why"] = run.why[0]
        run.entries[self.name] = entry
        run.asked.append(
            {
                "name": self.name,
                "kind": "bulk",
                "start_ns": 0,
                "direction": self.direction.value,
                "streams": streams,
                "size_bytes": size_bytes,
                "time_ns": None if size_bytes else _nanoseconds(asked["duration"].seconds()),
                "omit_ns": _nanoseconds(self._omit_s),
                "congestion_control": None,
            }
        )
        if not self._udp:
            flows = list(self._flows(run, by, size_bytes if streams == 1 else None))
            run.flows += flows
            numbers = {(row["local_port"], row["remote_port"]): row["flow"] for row in flows}
            run.sockets += self._samples(end["sender_tcp_congestion"].text(), numbers)

    def _carried(self, received: Found, sent: Found) -> tuple[int | None, float | None, str]:
        """Bytes, seconds, and which end counted them."""
        by = "sender" if self._sends and not self._told else "receiver"
        if by == "sender" and self._udp:
            return None, None, by
        counted = sent if by == "sender" else received
        carried, seconds = counted["bytes"].count(), counted["seconds"].seconds()
        if carried is not None and seconds:
            return carried, seconds, by
        pieces = [each for each in self._sums() if not each["omitted"].flag()]
        lengths = [each["seconds"].seconds() or 0.0 for each in pieces]
        if not sum(lengths) or (self._sends and self._udp):
            return carried, seconds, by
        by = "sender" if self._sends else "receiver"
        return sum(each["bytes"].count() or 0 for each in pieces), sum(lengths), by

    def _sums(self) -> Iterator[Found]:
        for interval in self._intervals:
            yield interval[f"sum{self._suffix}"]

    def _per_second(self) -> list[float]:
        pieces = []
        for each in self._sums():
            start, seconds = each["start"].seconds(), each["seconds"].seconds()
            carried = each["bytes"].positive()
            if start is None or seconds is None or carried is None or each["omitted"].flag():
                continue
            pieces.append((start, seconds, carried))
        return spread_over_seconds(pieces)

    def _connections(self) -> dict[int, tuple[int, int | None, int | None]]:
        """By its socket's number: IP version, and the client's and the server's port."""
        found = {}
        for each in self._document["start"]["connected"].elements():
            number = each["socket"].count()
            ip = 6 if ":" in (each["local_host"].text() or "") else 4
            ports = (each["local_port"].count(), each["remote_port"].count())
            if number is not None:
                found[number] = (ip, *(ports if self._is_client else ports[::-1]))
        return found

    def _ours(self, stream: Found) -> bool:
        """Whether a stream goes this way. Its `sender` is whether the end that wrote sends."""
        sends = stream["sender"].flag()
        return not self._both_ways or sends is None or sends == self._sends

    def _flows(self, run: Imported, by: str, size_bytes: int | None) -> Iterator[Row]:
        connections = self._connections()
        ended = [
            (each["receiver"], each["sender"])
            for each in self._document["end"]["streams"].elements()
            if self._ours(each["receiver"])
        ]
        for number, (receiver, sender) in enumerate(ended, len(run.flows) + 1):
            socket = receiver["socket"].count()
            ip, client_port, server_port = connections.get(-1 if socket is None else socket, (4, None, None))
            counted = sender if by == "sender" else receiver
            carried, seconds = counted["bytes"].count(), counted["seconds"].seconds()
            rate = mbit_s(carried, seconds)
            ended_s = receiver["end"].seconds() if not run.why else None
            yield {
                "flow": number,
                "workload": self.name,
                "client": "client",
                "server": "server",
                "direction": self.direction.value,
                "ip": ip,
                "local_port": client_port,
                "remote_port": server_port,
                "size_bytes": size_bytes,
                "start_s": 0.0,
                "end_s": None if ended_s is None else ended_s + self._omit_s,
                "bytes": carried,
                "goodput_bit_s": None if rate is None else rate * 1e6,
                "retransmits": _known_count(sender["retransmits"]),
                "outcome": "failed" if run.why else "finished",
                "why": run.why[0] if run.why else None,
            }

    def _samples(
        self, congestion_control: str | None, flows: Mapping[tuple[int | None, int | None], int]
    ) -> Iterator[Row]:
        """What the sending end's sockets were, once an interval. The other end's file has none.

        `flows`: their numbers by the client's and the server's port."""
        connections = self._connections()
        mss = self._document["start"]["tcp_mss_default"].count()
        again: dict[int, int] = {}
        for interval in self._intervals:
            for stream in interval["streams"].elements():
                socket, window = stream["socket"].count(), stream["snd_cwnd"].count()
                at = stream["end"].seconds()
                if socket is None or at is None or not window or not self._ours(stream) or not self._sends:
                    continue
                ip, client_port, server_port = connections.get(socket, (4, None, None))
                again[socket] = again.get(socket, 0) + (_known_count(stream["retransmits"]) or 0)
                segment = _segment_bytes(window, mss, stream["pmtu"].count(), ip)
                ports = (client_port, server_port)
                local, remote = ports if self._is_client else ports[::-1]
                yield {
                    "time_s": at if stream["omitted"].flag() else at + self._omit_s,
                    "host": "client" if self._is_client else "server",
                    "workload": self.name,
                    "flow": flows.get(ports),
                    "role": "data",
                    "ip": ip,
                    "local_port": local,
                    "remote_port": remote,
                    "congestion_control": congestion_control,
                    "cwnd_segments": window // segment if segment else None,
                    "mss_bytes": segment,
                    "srtt_s": _microseconds(stream["rtt"].positive()),
                    "rttvar_s": _microseconds(stream["rttvar"].positive()),
                    "retransmits": again[socket] if "retransmits" in stream else None,
                    "snd_wnd_bytes": stream["snd_wnd"].count() or None,
                }


def _once(intervals: Sequence[Found], key: str) -> Iterator[Found]:
    """Without one that repeats the one before it."""
    before = None
    for each in intervals:
        total = each[key]
        here = (total["start"].value, total["bytes"].value, total["omitted"].value)
        if here != before:
            yield each
        before = here


def _segment_bytes(window: int, mss: int | None, pmtu: int | None, ip: int) -> int | None:
    """The segment's size that the kernel's window in segments was multiplied by; None: it cannot be told."""
    sizes = [mss or 0, *((pmtu or 0) - headers for headers in _HEADERS_BYTES[ip])]
    return next((size for size in sizes if size > 0 and window % size == 0), None)


def _known_count(of: Found) -> int | None:
    """A count; -1 is iperf3's for not known."""
    return None if of.value == -1 else of.count()


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def _microseconds(of: float | None) -> float | None:
    """In seconds; 0 is not known."""
    return of / 1e6 if of else None


def _peer(start: Found) -> str | None:
    for key in ("connecting_to", "accepted_connection"):
        if key in start:
            return start[key]["host"].text()
    return _first_text(start["connected"], "remote_host")


def _first_text(of: Found, key: str) -> str | None:
    return next((each[key].text() for each in of.elements()), None)


def _kernel(system: str | None) -> str | None:
    """Its release, of what `uname -a` begins with."""
    found = re.match(r"\S+ \S+ (\S+)", system or "")
    return found.group(1) if found else None
