"""`bentpipe doctor` on the command line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bentpipe.cli.newest import newest_folder
from bentpipe.cli.saying import say, tell
from bentpipe.errors import StoreError
from bentpipe.words.printable import printable_json

if TYPE_CHECKING:
    from bentpipe.doctor.diagnosis import Diagnosis
    from bentpipe.doctor.evidence import SeenFrom

_EXPECTED = re.compile(r"\s*([a-z_.]+)\s*(>=|<=|>|<)\s*(-?[0-9.eE+-]+)\s*")


def doctor(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN | FILE.pcapng]",
            help="A run's folder, or a folder of runs, or its URL; or a capture, pcap or pcapng. Default: "
            "the folder in runs/ that was written last.",
        ),
    ] = None,
    *,
    seen_from: Annotated[
        Literal["sender", "receiver"],
        typer.Option("--seen-from", help="Whose view of the run to judge by: that end's sockets only."),
    ] = "sender",
    lab: Annotated[
        Path | None,
        typer.Option("--lab", metavar="FILE", help="Write a lab that reproduces the path as it was seen."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"KEY > N"',
            help='Exit with status 1 if a transfer differs, such as "goodput_mbit_s > 15"; repeatable.',
        ),
    ] = None,
    with_cures: Annotated[
        bool,
        typer.Option("--cures/--no-cures", help="Simulate what each change would give on the path as seen."),
    ] = True,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object per run, on a line.")] = False,
) -> None:
    """Say what limited a transfer by what one end saw of it, with the evidence.

    It reads one end's sockets, and the pings, as on a real host. It does not read the pipe's own tables:
    `bentpipe explain` does, and knows each drop's cause.

    Of a capture it tells itself where on the path it was taken.

    Examples:

        bentpipe doctor

        bentpipe doctor runs/island-2026-01-31/001_as-is_seed-1 --seen-from receiver --json

        bentpipe doctor somebody.pcapng

        bentpipe doctor --expect "goodput_mbit_s > 15"
    """
    from bentpipe.doctor.cures import cures
    from bentpipe.doctor.from_capture import is_capture
    from bentpipe.doctor.lab_seen import write_lab
    from bentpipe.doctor.path_seen import path_seen
    from bentpipe.doctor.words import as_json, lines

    wanted = [_parsed(each) for each in expect or []]
    missed: list[str] = []
    diagnosed = _of_capture(Path(source)) if source and is_capture(source) else _of_runs(source, seen_from)
    for number, (kind, heading, found, remarks) in enumerate(diagnosed):
        path = path_seen(found)
        better = [cures(each, path) if with_cures and path is not None else [] for each in found]
        entry = {
            kind: heading,
            **as_json(kind, found, path, better),
            **({"remarks": remarks} if remarks else {}),
        }
        if json_:
            print(printable_json(entry), flush=True)
        else:
            if number:
                tell("")
            tell(f"{heading}:")
            for line in (*lines(found, path, better), *remarks):
                tell(f"  {line}")
        if lab is not None and path is not None:
            write_lab(lab, path, found)
            lab = None
        missed += _missed(entry["transfers"], wanted)
    for each in missed:
        say(each)
    if missed:
        raise typer.Exit(1)


_Diagnosed = tuple[str, str, "list[Diagnosis]", Sequence[str]]
"""What it is of, its name, its transfers, and what to know beside them."""


def _of_runs(source: str | None, seen_from: "SeenFrom") -> Iterator[_Diagnosed]:
    from bentpipe.doctor import from_run
    from bentpipe.doctor.diagnosis import diagnose
    from bentpipe.runs.store import Results

    results = Results.open(source or newest_folder("doctor"))
    for record in results.records:
        run = record["run"]
        tables = {name: results.of_run(run, name) for name in ("sockets", "flows", "pings")}
        yield "run", run, [diagnose(each) for each in from_run.transfers(record, tables, seen_from)], ()


def _of_capture(file: Path) -> Iterator[_Diagnosed]:
    from bentpipe.doctor import from_capture
    from bentpipe.doctor.diagnosis import diagnose

    seen = from_capture.read(file)
    yield "capture", file.name, [diagnose(each) for each in seen.transfers], seen.remarks


def _parsed(text: str) -> tuple[str, str, str, float]:
    found = _EXPECTED.fullmatch(text)
    try:
        if found:
            return text, found[1], found[2], float(found[3])
    except ValueError:
        pass
    raise StoreError(
        f'--expect: found "{text}"; expected a figure and a bound, such as "goodput_mbit_s > 15"'
    )


def _missed(
    transfers: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[str, str, str, float]]
) -> list[str]:
    missed = []
    for text, key, sign, bound in wanted:
        for each in transfers:
            value = each.get(key)
            if not isinstance(value, int | float):
                known = ", ".join(name for name, of in each.items() if isinstance(of, int | float))
                raise StoreError(f'--expect: found "{text}"; expected one of the figures {known}')
            holds = {
                ">": value > bound,
                "<": value < bound,
                ">=": value >= bound,
                "<=": value <= bound,
            }[sign]
            if not holds:
                missed.append(f"{each['name']}: expected {text}; found {value:g}")
    return missed
