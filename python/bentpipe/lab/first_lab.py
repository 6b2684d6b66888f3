"""A commented lab file from a few answers: a path, and one kind of work."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bentpipe.lab.errors import FaultError
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.quantities import parse_queue_amount
from bentpipe.lab.units import format_rate, format_time, parse_probability, parse_rate, parse_time
from bentpipe.words.faults import did_you_mean
from bentpipe.words.written import written

DEFAULT_PRESET = "geo"
DEFAULT_LOSS = 0.0
DEFAULT_QUEUE = "1 bdp"
DEFAULT_WORK = "download"
_MOST_RTT_NS = 60 * 10**9
_BETWEEN = re.compile(r"\s+/\s+|(?<=/s)\s*/\s*(?=\d)")
"""Between two rates; a slash also stands in their units."""

_PING = """
[[workload]]
name = "rtt"
kind = "ping"              # round trips of small packets
count = {count}
interval = "{interval}"
start = "{start}"             # {when}
"""
_BULK = """
[[workload]]
name = "{name}"
kind = "bulk"              # one TCP connection that sends as fast as it can, as iperf3 does
direction = "{direction}"         # down: from the server to the client
time = "30 s"
"""
_WEB = """
[[workload]]
name = "page"
kind = "http"              # a browser: a page of several files over a few connections
objects = ["80 kB", "40 kB", "30 kB", "30 kB", "20 kB", "20 kB", "10 kB", "300 kB"]
connections = 6
fetches = 5                # the page five times, one after another
"""
_MANY = """
[[workload]]
name = "clients"
kind = "channels"          # each client opens a connection, fetches a flow, closes it, opens the next
channels = 20
servers = 5
size = { distribution = "bounded-pareto", shape = 1.2, min = "1.5 kB", max = "10 MB" }
"""
_KEYS = """
[[workload]]
name = "idle"
kind = "interactive"       # keys typed into a shell: small messages, each answered
interval = "100 ms"
count = 110
start = "-15 s"            # before time 0: on the idle path

[[workload]]
name = "download"
kind = "bulk"

[[workload]]
name = "beside"
kind = "interactive"
interval = "100 ms"
start = "10 s"             # beside the download
"""
_IDLE_PING = _PING.format(count=10, interval="200 ms", start="-3 s", when="before time 0: on the idle path")
_VARIANTS = (
    "# [[variant]]",
    '# name = "bbr"              # another congestion control at both hosts',
    '# set = { "host.congestion_control" = "bbr" }',
    "",
    "# [[variant]]",
    '# name = "coded tunnel"     # repair packets replace the packets that the path loses',
    "# set = { tunnel = {} }",
    "",
    "# [[variant]]",
    '# name = "split"            # TCP ends at both ends of the path, with BBR between them',
    '# set = { "split.path.congestion_control" = "bbr" }',
    "",
    "# [[variant]]",
    '# name = "gateway"          # bentpipe\'s gateways at both ends of the path send at its rate',
    "# set = { gateway = {} }",
    "",
)
"""What people try on a slow path, commented out."""
_ENDS = {
    "done": ('until = "done"', "the run ends when all work is done"),
    "time": ('duration = "30 s"', "the run ends here"),
}


@dataclass(frozen=True)
class Work:
    """A kind of work to choose: what it is for a person, and its tables in the lab."""

    meaning: str
    title: str
    tables: str
    ends: str = "done"


WORKS: dict[str, Work] = {
    "download": Work(
        "one large file from the server",
        "one download",
        _IDLE_PING + _BULK.format(name="download", direction="down"),
    ),
    "upload": Work(
        "one large file to the server", "one upload", _IDLE_PING + _BULK.format(name="upload", direction="up")
    ),
    "ping": Work(
        "round trips alone",
        "ping",
        _PING.format(count=50, interval="200 ms", start="0 s", when="when the first one is sent"),
    ),
    "web": Work("a web page with its files", "a web page", _IDLE_PING + _WEB),
    "shell": Work("keys typed into a shell, beside a download", "keystrokes", _KEYS, ends="time"),
    "many": Work("20 clients with many short flows", "20 clients", _IDLE_PING + _MANY, ends="time"),
}


@dataclass(frozen=True)
class Answers:
    """What was answered, checked. Rates in bit/s."""

    rate_down_bit_s: int
    rate_up_bit_s: int
    rtt_ns: int
    loss: float = DEFAULT_LOSS
    queue: str = DEFAULT_QUEUE
    work: str = DEFAULT_WORK


def read_rate(text: str) -> int:
    """In bit/s. This and the other readers raise `FaultError`."""
    return parse_rate(text)


def read_rates(text: str) -> tuple[int, int]:
    """Down and up: "16 Mbit/s" is both, "100 Mbit/s / 10 Mbit/s" one after the other."""
    down, *up = _BETWEEN.split(text, maxsplit=1)
    return parse_rate(down), parse_rate(up[0] if up else down)


def read_rtt(text: str) -> int:
    """In nanoseconds."""
    rtt_ns = parse_time(text)
    if not 0 < rtt_ns <= _MOST_RTT_NS:
        raise FaultError("expected a round trip above zero and of at most 60 s")
    return rtt_ns


def read_loss(text: str) -> float:
    try:
        value: object = float(text)
    except ValueError:
        value = text
    loss = parse_probability(value)
    if loss == 1:
        raise FaultError("expected a probability below 1: at 1 nothing arrives")
    return loss


def read_queue(text: str) -> str:
    parse_queue_amount(text)
    return " ".join(text.split())


def read_work(text: str) -> str:
    return _one_of(text, WORKS)


def read_preset(text: str) -> str:
    return _one_of(text, PRESETS)


def _one_of(text: str, known: Iterable[str]) -> str:
    names = [*known]
    if text not in names:
        raise FaultError(f"{did_you_mean(text, names)}expected one of {', '.join(names)}")
    return text


def of_preset(name: str) -> Answers:
    """The path of a preset that has a rate."""
    preset = PRESETS[name]
    down, up = (str(pipe.get("rate", preset.path.get("rate"))) for pipe in (preset.down, preset.up))
    return Answers(parse_rate(down), parse_rate(up), parse_time(str(preset.path["rtt"])))


def text_of(answers: Answers, file: str) -> str:
    """The lab file; `file` is what it will be called, for the commands in it."""
    work = WORKS[answers.work]
    down, up = (format_rate(rate) for rate in (answers.rate_down_bit_s, answers.rate_up_bit_s))
    rtt = format_time(answers.rtt_ns)
    end, meaning = _ENDS[work.ends]
    rates = (
        [_line(f'rate = "{down}"', "each way; all IP bytes count")]
        if down == up
        else [
            _line(f'down.rate = "{down}"', "from the server to the client; all IP bytes count"),
            _line(f'up.rate = "{up}"', "the other way, which carries the ACKs of a download"),
        ]
    )
    lines = [
        f"# Run it in virtual time, on any machine:   bentpipe run {file}",
        f"# On the kernel and real programs (Linux):  bentpipe run {file} --engine live",
        "# What limited the transfer: bentpipe explain DIR, with the folder that `run` names at its end",
        "",
        f'title = "{rtt}, {down if down == up else f"{down} down, {up} up"}: {work.title}"',
        _line(end, meaning),
        "",
        "[path]",
        _line(f'rtt = "{rtt}"', "base round trip, with empty queues"),
        *rates,
        _line(
            f'queue = "{answers.queue}"',
            'what waits at the bottleneck: "100 kB", "250 packets", "60 ms", "1 bdp"',
        ),
        _line(
            f"loss = {written(answers.loss or 0)}",
            "share of the packets that are lost besides a full queue's drops",
        ),
        work.tables.rstrip("\n"),
        "",
        "# Changes to compare with the lab as it is. Take the # away, run it again, then: bentpipe report",
        *_VARIANTS,
        "# Or try many values of one key; each is a run.",
        "# [sweep]",
        '# "path.queue" = ["0.25 bdp", "1 bdp", "4 bdp"]',
        "",
    ]
    return "\n".join(lines)


def _line(setting: str, meaning: str) -> str:
    return f"{setting:26} # {meaning}"
