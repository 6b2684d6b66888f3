"""`bentpipe new`: a first lab file, from five questions or from options."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from bentpipe import interruption
from bentpipe.cli import completion
from bentpipe.cli.saying import say, tell
from bentpipe.errors import LabError, clause
from bentpipe.lab import first_lab
from bentpipe.lab.errors import FaultError
from bentpipe.lab.first_lab import Answers
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.units import format_rate, format_time
from bentpipe.words.faults import shown
from bentpipe.words.printable import printable

T = TypeVar("T")
_DEFAULT_FILE = Path("my.toml")


def new(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The lab file to write. Default my.toml.")
    ] = None,
    *,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A known path; other options override it: lan, continental, transatlantic, "
            "transpacific, intercontinental, leo, meo or geo.",
            autocompletion=completion.presets,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Rate from the server to the client: 16Mbit/s."),
    ] = None,
    rate_up: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate of the other direction. Default: as --rate.")
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(metavar="TIME", help="Base round trip, with empty queues: 550ms.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(metavar="P", help="Share of lost packets: 0.001 is one in a thousand."),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Size of the bottleneck's queue: 100kB, '250 packets', 60ms or '1 bdp'."
        ),
    ] = None,
    work: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the hosts do: download, upload, ping, web or many.",
            autocompletion=completion.works,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The same as FILE.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a first lab file for your own path.

    Without options it asks five questions.

    Examples:

        bentpipe new

        bentpipe new island.toml --preset geo --loss 0.001

        bentpipe new --rate 50Mbit/s --rate-up 5Mbit/s --rtt 40ms --work web --out home.toml
    """
    from bentpipe.lab.load import Lab

    if file and out and file != out:
        raise typer.BadParameter(f"found two files, {file} and --out {out}; expected one")
    place = file or out or _DEFAULT_FILE
    _check_place(place, force=force)
    given = {
        "preset": preset,
        "rate": rate,
        "rate-up": rate_up,
        "rtt": rtt,
        "loss": loss,
        "queue": queue,
        "work": work,
    }
    options = {name: text for name, text in given.items() if text is not None}
    answers = _of_options(options) if options else _asked()
    typed = printable(shlex.quote(str(place)))
    text = first_lab.text_of(answers, typed)
    Lab.loads(text)
    with place.open("w" if force else "x", encoding="utf-8") as written:
        written.write(text)
    tell(str(place))
    say(f"Run it in virtual time: bentpipe run {typed}")


def _check_place(place: Path, *, force: bool) -> None:
    if place.is_dir():
        raise LabError("new", "", f"the folder {place}", "expected a file name, such as my.toml")
    if place.exists() and not force:
        raise LabError(
            "new",
            "",
            f"{place}, which exists already",
            "expected another name, or --force to overwrite it",
        )


def _of_options(given: dict[str, str]) -> Answers:

    preset = _option(given, "preset", first_lab.read_preset)
    if preset:
        answers = first_lab.of_preset(preset)
    else:
        for name, example in (("rate", "16Mbit/s"), ("rtt", "550ms")):
            if name not in given:
                raise LabError("new", f"--{name}", "nothing", f"expected --{name} {example}, or --preset geo")
        answers = first_lab.of_preset(first_lab.DEFAULT_PRESET)
    down = _option(given, "rate", first_lab.read_rate)
    up = _option(given, "rate-up", first_lab.read_rate)
    if down is not None:
        answers = replace(answers, rate_down_bit_s=down, rate_up_bit_s=down)
    if up is not None:
        answers = replace(answers, rate_up_bit_s=up)
    rtt_ns = _option(given, "rtt", first_lab.read_rtt)
    loss = _option(given, "loss", first_lab.read_loss)
    queue = _option(given, "queue", first_lab.read_queue)
    work = _option(given, "work", first_lab.read_work)
    return replace(
        answers,
        rtt_ns=answers.rtt_ns if rtt_ns is None else rtt_ns,
        loss=answers.loss if loss is None else loss,
        queue=queue or answers.queue,
        work=work or answers.work,
    )


def _option(given: dict[str, str], name: str, read: Callable[[str], T]) -> T | None:
    if name not in given:
        return None
    try:
        return read(given[name])
    except FaultError as fault:
        raise LabError("new", f"--{name}", fault.found or shown(given[name]), fault.remedy) from None


def _asked() -> Answers:
    """Asks the five questions on a terminal."""

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise LabError(
            "new",
            "",
            "neither options nor a terminal for questions",
            "expected --rate and --rtt, or --preset: bentpipe new my.toml --rate 16Mbit/s --rtt 550ms",
        )
    default = first_lab.of_preset(first_lab.DEFAULT_PRESET)
    tell("Five questions. Enter takes the value in [brackets].")
    tell(f"A known path as the first answer fills in rate and round trip: {', '.join(PRESETS)}")

    def path(text: str) -> Answers:
        if text in PRESETS:
            return first_lab.of_preset(text)
        down, up = first_lab.read_rates(text)
        return replace(default, rate_down_bit_s=down, rate_up_bit_s=up)

    answers = _ask(
        1, "Rate of the link, one for both ways or DOWN / UP", format_rate(default.rate_down_bit_s), path
    )
    rtt_ns = _ask(2, "Round-trip time without load", format_time(answers.rtt_ns), first_lab.read_rtt)
    loss = _ask(3, "Share of packets lost: 0.001 is one in a thousand", "0", first_lab.read_loss)
    queue = _ask(
        4, "Queue at the bottleneck: a size, packets, a time or BDPs", default.queue, first_lab.read_queue
    )
    for name, each in first_lab.WORKS.items():
        tell(f"     {name:9} {each.meaning}")
    work = _ask(5, "What the hosts do", default.work, first_lab.read_work)
    return replace(answers, rtt_ns=rtt_ns, loss=loss, queue=queue, work=work)


def _ask(number: int, question: str, default: str, read: Callable[[str], T]) -> T:
    """Asks again until the answer can be read."""
    while True:
        # A Ctrl-C just before the terminal is read reaches nobody here; then `interruption` ends the line.
        interruption.clear_display = print
        try:
            typed = input(f"{number}/5  {question} [{default}]: ").strip()
        except KeyboardInterrupt:
            print()
            raise
        except EOFError:
            print()
            raise LabError("new", "", "no answer", "expected five; nothing was written") from None
        finally:
            interruption.clear_display = None
        try:
            return read(typed or default)
        except FaultError as fault:
            tell(f"     found {fault.found or shown(typed)}; {clause(fault.remedy)}")
