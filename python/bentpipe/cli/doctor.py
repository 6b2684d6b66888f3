"""`bentpipe doctor` on the command line."""

import operator
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from bentpipe.cli.doctor_outputs import Judged, Outputs
from bentpipe.cli.saying import say, tell
from bentpipe.errors import LabError, StoreError
from bentpipe.words.faults import shown
from bentpipe.words.printable import printable_json

if TYPE_CHECKING:
    from bentpipe.cli.doctor_sources import Diagnosed
    from bentpipe.doctor.evidence import SeenFrom

_EXPECTED = re.compile(r"\s*([a-z_.]+)\s*(>=|<=|>|<)\s*(-?[0-9.eE+-]+)\s*")
_Expected = tuple[str, str, str, float]
"""As it was typed: figure, sign and bound."""
_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_BEGINNING = re.compile(r" *(?:[0-9.]+\s% +)?")
_LEAST_EVERY_S, _MOST_EVERY_S = 0.01, 10.0


def doctor(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN | FILE.pcapng | WHAT | -- COMMAND ...]",
            help="A run's folder, or a folder of runs, or its URL; or a capture, pcap or pcapng. Default: "
            "the newest folder in runs/. With --watch what to watch, with --exec the command.",
        ),
    ] = None,
    *,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Watch this host's own connections. WHAT is a host, a port, a process with its "
            "children, or all. A number is a process if such a process runs, else a port; if it is both, "
            "write port:443 or pid:1234. It needs no privileges and sends nothing.",
        ),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="SERVER[:PORT]", help="Test both directions with an iperf3 server, and watch."
        ),
    ] = None,
    exec_: Annotated[
        bool, typer.Option("--exec", help="Run a command and watch its connections. Exits with its status.")
    ] = False,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="How long to watch. Default: 30s.")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            "--every",
            metavar="TIME",
            help="Time between two samples of the sockets. Default: 20ms; 100ms with --watch, or longer "
            "where that would take more than 5 % of a core.",
        ),
    ] = None,
    most_bytes: Annotated[
        str | None,
        typer.Option("--bytes", metavar="SIZE", help="Most bytes that --to transfers in all. Default: 1GB."),
    ] = None,
    seen_from: Annotated[
        Literal["sender", "receiver"] | None,
        typer.Option(
            "--seen-from",
            help="Use only the sockets of this end of the run. Default: sender. Captures and this host's "
            "sockets tell their own end.",
        ),
    ] = None,
    lab: Annotated[
        Path | None,
        typer.Option("--lab", metavar="FILE", help="Write a lab that reproduces the observed path."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"KEY > N"',
            help='Exit with 1 unless this holds for each transfer: "goodput_mbit_s > 15"; repeatable.',
        ),
    ] = None,
    prometheus: Annotated[
        Path | None,
        typer.Option(
            "--prometheus", metavar="FILE", help="Write the findings for node_exporter's textfile collector."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with findings and charts.")
    ] = None,
    with_cures: Annotated[
        bool,
        typer.Option(
            "--cures/--no-cures",
            help="Simulate the transfer on the observed path, and the effect of each change.",
        ),
    ] = True,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object per run, each on a line.")] = False,
) -> None:
    """Say what limited a transfer, from what one end saw, with the evidence.

    It reads one end's sockets and the pings, as on a real host. It does not read the pipe's tables.
    `bentpipe explain` reads them and knows the cause of each drop.

    For a capture it detects where on the path it was taken.

    On a real host it watches connections (--watch), those of a command (--exec), or makes its own (--to).

    Examples:

        bentpipe doctor

        bentpipe doctor runs/island-2026-01-31/001_as-is_seed-1 --seen-from receiver --json

        bentpipe doctor somebody.pcapng

        bentpipe doctor --watch

        bentpipe doctor --watch port:443 --for 1min

        bentpipe doctor --exec -- curl -O https://example.org/large

        bentpipe doctor --to iperf.example.org --bytes 200MB

        bentpipe doctor --expect "goodput_mbit_s > 15"
    """
    from bentpipe.doctor.words import lines

    wanted = [_parsed(each) for each in expect or []]
    host = _OfHost(watch, to, exec_, for_, every, most_bytes, json_)
    _check_together(source or [], host)
    if seen_from is not None and not _is_of_runs(source or [], host):
        raise StoreError("--seen-from needs a run: a capture and this host's sockets tell their own end")
    outputs = Outputs(lab, prometheus, html)
    outputs.check(source[0] if source and not (watch or exec_) else None)
    # What a command prints goes on in its pipe: the result of --exec is beside it, on the other stream.
    out, stream = (say, sys.stderr) if exec_ else (tell, sys.stdout)
    missed: list[str] = []
    status = 0
    found: Iterable[Judged] = (
        _judged(each, with_cures=with_cures) for each in _diagnosed(source or [], seen_from or "sender", host)
    )
    if outputs:
        # Whoever reads what is printed may go before its end.
        found = list(found)
        outputs.write(found)
    for number, each in enumerate(found):
        if json_:
            print(printable_json(each.entry), flush=True)
        else:
            if number:
                out("")
            out(f"{each.of.heading}:")
            for line in (*lines(each.of.found, each.paths, each.cures, each.simulated), *each.of.remarks):
                for part in _fitted(f"  {line}", stream):
                    out(part)
        missed += _missed(each, wanted)
        status = each.of.status
    for line in missed:
        say(line)
    if status or missed:
        raise typer.Exit(status or 1)


def _judged(of: "Diagnosed", *, with_cures: bool) -> Judged:
    from bentpipe.doctor.cures import cures
    from bentpipe.doctor.path_seen import paths_seen
    from bentpipe.doctor.reproduced import reproduced
    from bentpipe.doctor.words import as_json

    # The tests of --to are made one after another.
    paths = paths_seen(of.found, alone=True if of.kind == "to" else None)
    better = [cures(*each) if with_cures else [] for each in zip(of.found, paths, strict=True)]
    again = [reproduced(*each) if with_cures else None for each in zip(of.found, paths, strict=True)]
    entry = {of.kind: of.heading, **as_json(of.kind, of.found, paths, better, again), **_beside(of)}
    return Judged(of, paths, better, again, entry)


def _fitted(line: str, stream: TextIO) -> list[str]:
    """Wraps lines to the terminal's width. Continuation lines are indented to the start of the text."""
    if not stream.isatty():
        return [line]
    hangs = _BEGINNING.match(line)
    indent = " " * len(hangs[0] if hangs else "")
    return wrap(line, max(shutil.get_terminal_size().columns - 1, 40), subsequent_indent=indent) or [line]


_OF_HOST = ("--watch", "--to", "--exec")
_WATCHED_EVERY = "100ms"
"""Of a host's sockets, which may be thousands."""
_OWN_EVERY = "20ms"
"""Of the few sockets of a command or a test: a short path's start, and bursts, need it."""


def _diagnosed(
    source: Sequence[str],
    seen_from: "SeenFrom",
    host: "_OfHost",
) -> "Iterator[Diagnosed]":
    from bentpipe.cli import doctor_sources as sources

    every_s = _every_s(host.every or (_WATCHED_EVERY if host.watch else _OWN_EVERY))
    if host.watch:
        what, for_s = source[0] if source else None, _seconds("--for", host.for_ or "30s")
        return sources.of_watch(what, for_s, every_s, always=host.every is not None)
    if host.exec_:
        return sources.of_command(source, every_s, to_stderr=host.json_)
    if host.to is not None:
        from bentpipe.lab.units import parse_size

        most_bytes = _parsed_by("--bytes", host.most_bytes or "1GB", parse_size)
        return sources.of_server(host.to, most_bytes, every_s)
    if _is_of_runs(source, host):
        return sources.of_runs(source[0] if source else None, seen_from)
    return sources.of_capture(Path(source[0]))


def _is_of_runs(source: Sequence[str], host: "_OfHost") -> bool:
    from bentpipe.doctor.from_capture import is_capture

    return not (host.watch or host.exec_ or host.to is not None or (source and is_capture(source[0])))


@dataclass(frozen=True)
class _OfHost:
    """The options of a real host."""

    watch: bool
    to: str | None
    exec_: bool
    for_: str | None
    every: str | None
    most_bytes: str | None
    json_: bool


def _check_together(source: Sequence[str], of: _OfHost) -> None:
    """Refuse options that contradict each other."""
    given = [name for name, on in zip(_OF_HOST, (of.watch, of.to is not None, of.exec_), strict=True) if on]
    if len(given) > 1:
        raise StoreError(f"doctor: found {' and '.join(given)}; expected one of them")
    if of.to is not None and source:
        raise StoreError(f'--to: unexpected argument "{source[0]}"; --to takes only the server')
    if not of.exec_ and len(source) > 1:
        raise StoreError(f'doctor: unexpected argument "{source[1]}"; expected only one source')
    if of.for_ is not None and not of.watch:
        raise StoreError("--for needs --watch")
    if of.every is not None and not given:
        raise StoreError(
            f"--every needs {', '.join(_OF_HOST[:-1])} or {_OF_HOST[-1]}: a recording has its own samples"
        )
    if of.most_bytes is not None and of.to is None:
        raise StoreError("--bytes needs --to")


def _parsed_by(option: str, text: str, parse: Callable[[object], int]) -> int:
    from bentpipe.lab.errors import FaultError

    try:
        found = parse(text)
    except FaultError as fault:
        raise LabError("doctor", option, fault.found or shown(text), fault.remedy) from None
    if found <= 0:
        raise LabError("doctor", option, shown(text), "expected a value above zero")
    return found


def _seconds(option: str, text: str) -> float:
    from bentpipe.lab.units import parse_time

    return _parsed_by(option, text, parse_time) / 1e9


def _every_s(text: str) -> float:
    every_s = _seconds("--every", text)
    if not _LEAST_EVERY_S <= every_s <= _MOST_EVERY_S:
        raise LabError("doctor", "--every", shown(text), "expected 10ms to 10s")
    return every_s


def _beside(of: "Diagnosed") -> dict[str, Any]:
    """The keys that only some sources have."""
    found = {
        "remarks": list(of.remarks),
        "host": of.host and of.host.as_json(),
        "watched": of.watch,
        "status": of.status if of.kind == "exec" else None,
    }
    return {name: value for name, value in found.items() if value not in (None, [])}


_FIGURES = ("goodput_mbit_s", "bytes", "duration_s", "start_s", "neighbours")
"""Figures of a transfer in `--json`."""


def _parsed(text: str) -> _Expected:
    found = _EXPECTED.fullmatch(text)
    try:
        if found and found[1] in _FIGURES:
            return text, found[1], found[2], float(found[3])
    except ValueError:
        pass
    expected = (
        f"one of the figures {', '.join(_FIGURES)}"
        if found and found[1] not in _FIGURES
        else 'a figure and a bound, such as "goodput_mbit_s > 15"'
    )
    raise StoreError(f'--expect: found "{text}"; expected {expected}')


def _missed(judged: Judged, wanted: Sequence[_Expected]) -> list[str]:
    """What does not hold. An expectation fails, too, if there is no transfer, the figure is unknown or a test
    failed."""
    of, transfers = judged.of, judged.entry["transfers"]
    missed = []
    for text, key, sign, bound in wanted:
        if not transfers:
            missed.append(f"{of.heading}: expected {text}; found no transfer")
        for each in transfers:
            value = each[key]
            if value is None or not _HOLDS[sign](value, bound):
                found = "an unknown value" if value is None else f"{value:g}"
                missed.append(f"{of.heading}: {each['name']}: expected {text}; found {found}")
        missed += [f"{of.heading}: {name}: expected {text}; the test failed" for name in of.failed]
    return missed
