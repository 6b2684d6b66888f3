"""`bentpipe run`."""

import gc
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from bentpipe import engines, interruption
from bentpipe.cli import typed
from bentpipe.cli.declared import Option
from bentpipe.cli.lab_options import LabOrNone, SeedOption, SetOption, VariantOption, load
from bentpipe.cli.saying import print_table, say
from bentpipe.errors import EngineError
from bentpipe.lab.shipped import catalogue
from bentpipe.lab.units import parse_time
from bentpipe.words.printable import printable_json

if TYPE_CHECKING:
    from bentpipe.engines.lab_commands import LabCommand
    from bentpipe.lab.load import Lab
    from bentpipe.runs.record import Record
    from bentpipe.sweep.run import Tally


class Again(StrEnum):
    FAILED = "failed"
    UNRELIABLE = "unreliable"


def run(
    lab: LabOrNone = None,
    *,
    engine: Annotated[
        engines.Name,
        Option(
            help="`sim`: a model of Linux's TCP in virtual time, on any machine. "
            "`live`: this machine's kernel and real programs, in real time (Linux)."
        ),
    ] = engines.DEFAULT,
    set_: SetOption = None,
    variant: VariantOption = None,
    seed: SeedOption = None,
    repeat: Annotated[
        int | None, Option(min=1, metavar="N", help="Runs of each point, each with its own seed.")
    ] = None,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR",
            help="Where the runs go: a folder, or a URL such as s3://bucket/sweep. Default runs/LAB-DATE. "
            "An interrupted sweep of the lab in it is continued.",
        ),
    ] = None,
    jobs: Annotated[
        int,
        Option(min=1, metavar="N", help="Runs at once on this machine. `live` does one at a time."),
    ] = 1,
    cluster: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="Run on a Dask cluster: its scheduler's address, or `local:4` for four workers.",
        ),
    ] = None,
    again: Annotated[
        Again | None,
        Option(help="Repeat and replace only the runs in --out that failed, or only the unreliable ones."),
    ] = None,
    json_: Annotated[
        bool,
        Option("--json", help="Print one JSON object per run, each on a line when the run ends; no table."),
    ] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress on stderr.")] = False,
    pcap: Annotated[
        list[str] | None,
        Option(
            metavar="HOST", help="Keep a pcapng capture of this host: client, near or server; repeatable."
        ),
    ] = None,
    allow_exec: Annotated[
        bool,
        Option("--allow-exec", help="Let the lab run its commands (`exec`) without asking."),
    ] = False,
    sample: Annotated[
        str, Option(metavar="TIME", help="Time between two samples of every socket.")
    ] = "100 ms",
    let_sleep: Annotated[
        bool,
        Option(
            "--let-sleep",
            help="Let idle processors sleep during a `live` run. They wake late, so packets leave later.",
        ),
    ] = False,
) -> None:
    """Run a lab: every point of its sweep and every variant.

    Examples:

        bentpipe run effects-of-latency

        bentpipe run effects-of-latency --set path.rtt="550 ms" --variant "as is" --repeat 3

        bentpipe run my.toml --engine live --set workload.download.time="10 s" --out runs/try --json

        bentpipe run my.toml --repeat 100 --jobs 4

        bentpipe run my.toml --repeat 1000 --cluster tcp://10.0.0.1:8786 --out s3://bucket/sweep
    """
    if lab is None:
        _list_labs()
        sys.exit(2)
    with _loading():
        from bentpipe.engines.base import EngineOptions
        from bentpipe.sweep import run as runner
        from bentpipe.sweep.executors.choice import Where
        from bentpipe.sweep.progress import watcher

        the_lab = load(lab, set_, variants=variant, seed=seed, repeat=repeat)
    options = EngineOptions(
        sample_interval_ns=_interval_ns(sample),
        allow_exec=allow_exec,
        pcap=_hosts(pcap or []),
        keep_awake=not let_sleep,
    )
    tally = runner.Tally()
    interruption.how_to_go_on = lambda: _how_to_go_on(tally, typed.words, out)
    with watcher(quiet=quiet) as watching:
        results = runner.execute(
            the_lab,
            engine=engine,
            out=out,
            where=Where(jobs, cluster),
            again=again.value if again else None,
            options=options,
            watcher=watching,
            tally=tally,
            on_record=_print_summary if json_ else None,
            on_left_out=lambda variant, why: say(f'bentpipe: variant "{variant}" is left out: {why}'),
            on_warning=lambda words: say(f"bentpipe: {words}"),
            allows=_allows_commands,
        )
    if not json_:
        print_table(results)
    if not quiet:
        _say_what_failed(tally, lab, the_lab, f"--engine {engine} ", str(results.folder))
        if not json_:
            say(f"Kept in {results.folder}. A page with charts: bentpipe report {results.folder}")
            say(f"What limited each transfer: bentpipe explain {results.folder}")
        if _was_left_out("--engine"):
            say("Engine: sim, a model in virtual time. On this machine's kernel: add --engine live")
    sys.exit(1 if tally.failed or tally.unreliable else 0)


def _was_left_out(option: str) -> bool:
    """Whether the option was not given, so it has its default."""
    return option not in [word.partition("=")[0] for word in typed.words]


def _list_labs() -> None:
    listed = "".join(f"\n  {name:24} {title}" for name, title in catalogue())
    say(f"bentpipe: run: found no LAB; expected a lab file, or one that comes with bentpipe:{listed}")
    say("For example: bentpipe run effects-of-latency")
    say("A lab of your own path: bentpipe new my.toml")


@contextmanager
def _loading() -> Iterator[None]:
    """Switches garbage collection off while modules load. Loading makes many objects and almost no garbage,
    but each collection visits all objects. Collections would take a sixth of a short run's time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _allows_commands(commands: "Sequence[LabCommand]") -> bool:
    """Asks, if there is a terminal."""
    import typer

    from bentpipe.engines import lab_commands

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"bentpipe: {lab_commands.listed(commands)}")
    try:
        allowed = typer.confirm("Run them?", default=False, err=True)
    except typer.Abort:  # nobody answers
        print("Aborted!", file=sys.stderr)
        sys.exit(1)
    if not allowed:
        raise EngineError("nothing was run", what="allow-exec")
    return True


def _print_summary(record: "Record") -> None:
    from bentpipe.runs.summary import summary

    print(printable_json(summary(record)), flush=True)


def _say_what_failed(tally: "Tally", lab: str, the_lab: "Lab", engine: str, folder: str) -> None:
    changes = "".join(f"{name} {shlex.quote(value)} " for name, value in map(_parted, the_lab.options))
    command = f"bentpipe run {shlex.quote(lab)} {engine}{changes}--out {shlex.quote(folder)} --again"
    if tally.failed:
        say(f"{_runs(tally.failed)} failed:")
        for name, why in tally.first_failed:
            say(f"  {name}: {why}")
        if more := tally.failed - len(tally.first_failed):
            say(f"  and {more} more")
        say(f"These alone once more:  {command} failed")
    if tally.unreliable:
        verb = "is" if tally.unreliable == 1 else "are"
        say(f"{_runs(tally.unreliable)} {verb} unreliable. These alone once more:  {command} unreliable")


def _how_to_go_on(tally: "Tally", arguments: Sequence[str], out: str | None) -> str:
    """`arguments`: the command line as it was typed."""
    ended = tally.done + tally.unreliable + tally.failed
    if not tally.runs:
        return ""
    done = f"{ended} of {_runs(tally.runs)} done"
    if not ended:
        return f"{done}, nothing is kept"
    command = shlex.join(["bentpipe", *arguments, *([] if out else ["--out", tally.folder])])
    return f"{done} and kept in {tally.folder}. To go on:\n  {command}"


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"


def _parted(option: str) -> tuple[str, str]:
    """An option as a lab keeps it, `--set path.rtt=30 ms`, into its name and its value."""
    name, _, value = option.partition(" ")
    return name, value


def _hosts(names: list[str]) -> tuple[str, ...]:
    for name in names:
        if name not in ("client", "near", "server"):
            raise EngineError(f"--pcap: found {name!r}; expected client, near or server", what="pcap")
    return tuple(dict.fromkeys(names))


def _interval_ns(text: str) -> int:
    try:
        interval_ns = parse_time(text)
    except ValueError as error:
        raise EngineError(f"--sample: found {text!r}; {error}", what="sample") from error
    if interval_ns < 1_000_000:
        raise EngineError(f"--sample: found {text!r}; expected 1 ms or more", what="sample")
    return interval_ns
