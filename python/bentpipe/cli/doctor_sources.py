"""The sources of evidence for `bentpipe doctor`: runs, a capture, or this host's own sockets."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import interruption
from bentpipe.cli.answers import fail
from bentpipe.cli.newest import newest_folder
from bentpipe.cli.saying import say
from bentpipe.errors import StoreError

if TYPE_CHECKING:
    from bentpipe.doctor.diagnosis import Diagnosis
    from bentpipe.doctor.evidence import Evidence, SeenFrom
    from bentpipe.doctor.from_host import HostSeen
    from bentpipe.doctor.host_facts import HostFacts


def readable(name: str) -> str:
    """The name of a file, in which bytes that are no UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


_SOCKETS = re.compile(r"((port|pid):|:)[0-9]+")
_ERASE = "\r\x1b[2K"


@dataclass(frozen=True)
class Diagnosed:
    """Transfers of one source."""

    kind: str
    """run, capture, watch, exec or to."""
    heading: str
    found: "list[Diagnosis]"
    of_source: Sequence[str] = ()
    """Remarks on the evidence."""
    host: "HostFacts | None" = None
    watch: "dict[str, Any] | None" = None
    status: int = 0
    """Exit status of the command that was run."""
    failed: Sequence[str] = ()
    """Tests of --to without a result."""

    @property
    def remarks(self) -> list[str]:
        """Sentences beside the findings: what the ends did not agree on, and what the source says."""
        from bentpipe.doctor.agreed import not_agreed

        return [*(line for each in self.found for line in not_agreed(each)), *self.of_source]


def of_runs(source: str | None, seen_from: "SeenFrom") -> Iterator[Diagnosed]:
    from bentpipe.doctor import from_run
    from bentpipe.runs.store import Results

    if source is not None and "://" not in source and not (source and Path(source).is_dir()):
        raise StoreError(_no_source(source))
    results = Results.open(newest_folder("doctor") if source is None else source)
    for record in results.records:
        run = record["run"]
        tables = {name: results.of_run(run, name) for name in ("sockets", "flows", "pings")}
        yield Diagnosed("run", readable(run), _diagnosed(from_run.transfers(record, tables, seen_from)))


def _no_source(source: str) -> str:
    """What is wrong with what is neither a folder nor a capture."""
    place = Path(source)
    if source != "-" and not (source and place.exists()):
        watch_it = (
            f"; to watch sockets: bentpipe doctor --watch {source}" if _SOCKETS.fullmatch(source) else ""
        )
        return f'doctor: found "{source}", but there is no such file or folder{watch_it}'
    run_it = f"; to run a lab: bentpipe run {source}" if source.endswith(".toml") else ""
    what = "a file that is not a capture" if place.is_file() else "a stream, which the doctor cannot read"
    return f"{source}: found {what}; expected a run's folder, or a pcap or pcapng file, plain or gzip{run_it}"


def of_capture(file: Path) -> Iterator[Diagnosed]:
    from bentpipe.doctor import from_capture

    seen = from_capture.read(file)
    yield Diagnosed("capture", readable(file.name), _diagnosed(seen.transfers), seen.remarks)


def of_watch(what: str | None, for_s: float, every_s: float, *, always: bool) -> Iterator[Diagnosed]:
    """This host's sockets for a time, or until Ctrl-C. `always`: every so often, whatever it costs."""
    from bentpipe.doctor.watching import MOST_SHARE, Watching, wait, watched
    from bentpipe.words.wording import duration

    over = watched(what)
    with Watching(over, every_s, None if always else MOST_SHARE) as watching:
        with interruption.put_off() as asked, _progress() as tell:
            say(f"Watching {over.words} for {duration(for_s)}. Ctrl-C ends it.")
            wait(
                watching,
                for_s,
                asked.is_set,
                lambda so_far, passed_s: tell(f"{passed_s:.0f} s: {so_far}"),
            )
        yield _of_host("watch", what or "all", watching.seen())


def of_command(command: Sequence[str], every_s: float, *, to_stderr: bool) -> Iterator[Diagnosed]:
    """A command's sockets. `to_stderr`: its output goes to stderr, so stdout has only the result."""
    from bentpipe.doctor.executed import exit_status, own_children, passing_on, start, status_of
    from bentpipe.doctor.watching import Watching

    if not command:
        raise StoreError("--exec needs a command, such as --exec -- curl -O https://...")
    with Watching(own_children(), every_s) as watching, interruption.put_off():
        # A Ctrl-C goes to the command, too, which ends by it.
        try:
            running = start(command, sys.stderr.fileno() if to_stderr else None)
        except OSError as error:
            fail(f"bentpipe: --exec: {command[0]}: {error.strerror or error}", status_of(error))
        try:
            with passing_on(running):
                status = exit_status(running.wait())
        except KeyboardInterrupt:
            running.kill()
            running.wait()
            raise
        seen = watching.seen()
    yield _of_host("exec", readable(" ".join(command)), seen, status)


def of_server(text: str, most_bytes: int, every_s: float) -> Iterator[Diagnosed]:
    """Tests with an iperf3 server."""
    from bentpipe.doctor.active import Until, announced, program, server, tests

    to = server(text)
    program()
    with interruption.put_off() as asked, _progress() as tell:
        say(announced(to, most_bytes))
        found = tests(to, most_bytes, every_s, Until(asked.is_set, tell))
    last = found.seen[-1] if found.seen else None
    remarks = [*found.remarks, *(dict.fromkeys(each for seen in found.seen for each in seen.remarks))]
    yield Diagnosed(
        "to",
        text,
        _diagnosed(found.transfers),
        [*remarks, *(last.facts.lines() if last else ())],
        last.facts if last else None,
        failed=found.failed,
    )


def _of_host(kind: str, heading: str, seen: "HostSeen", status: int = 0) -> Diagnosed:
    return Diagnosed(
        kind,
        heading,
        _diagnosed(seen.transfers),
        [*seen.remarks, *seen.facts.lines()],
        seen.facts,
        dict(seen.watch),
        status,
    )


def _diagnosed(transfers: "Sequence[Evidence] | Iterator[Evidence]") -> "list[Diagnosis]":
    from bentpipe.doctor.diagnosis import diagnose_all

    return diagnose_all(transfers)


@contextmanager
def _progress() -> Iterator[Any]:
    """Shows the progress on one line of a terminal."""
    shown = sys.stderr.isatty()

    def tell(line: str) -> None:
        if shown:
            print(f"{_ERASE}  {line}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if shown:
            print(_ERASE, end="", file=sys.stderr, flush=True)
