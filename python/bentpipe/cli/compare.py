"""`bentpipe compare` on the command line."""

from typing import Annotated

import typer

from bentpipe.cli.saying import console, say
from bentpipe.words.faults import listed
from bentpipe.words.printable import printable_json


def compare(
    folders: Annotated[
        list[str], typer.Argument(metavar="DIR [DIR ...]", help="Folders that `bentpipe run` wrote.")
    ],
    *,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The baseline: a variant of a single folder (default `as is`), "
            "or one of the folders (default the first).",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIGURE",
            help="Compare this figure instead: workload.download.goodput_mbit_s; repeatable.",
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Exit with 1 unless this holds at every point: FIGURE >= 0.95 * baseline, "
            "FIGURE <= baseline + 5, FIGURE < 10; `*` for any part of a name; repeatable.",
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object per comparison and line.")] = False,
) -> None:
    """Compare variants or folders: the effect of a change, with confidence intervals.

    Each pair of runs has the same point and seed.

    Compares the variants of one folder with `as is`, or several folders with the first.

    Examples:

        bentpipe compare runs/cures

        bentpipe compare runs/before runs/after --metric pipe.down.drops.tail

        bentpipe compare runs/before runs/after --require "workload.*.goodput_mbit_s >= 0.95 * baseline"
    """
    from bentpipe.analysis.comparisons import compare_all
    from bentpipe.analysis.pairs import unmatched
    from bentpipe.analysis.required import check
    from bentpipe.analysis.requirement import parse
    from bentpipe.report import comparison, requirements
    from bentpipe.report.verdicts import first
    from bentpipe.runs.store import Results

    asked = [parse(text) for text in require or []]
    sweeps = [Results.open(folder) for folder in folders]
    checks = check(sweeps, baseline, asked)
    alone = asked and not any(each.paired for each in asked) and not (metric or baseline) and len(sweeps) == 1
    compared = [] if alone else compare_all(sweeps, baseline, metric or [])
    if lonely := unmatched(sweeps):
        say(f"bentpipe: skipped, since not present in every folder: variants {listed(lonely)}")
    if json_:
        objects = [{**each.as_json(), "words": first(each)} for each in compared]
        objects += [each.as_json() for each in checks]
        for one in objects:
            print(printable_json(one))
    else:
        shown = console()
        if compared:
            shown.print(comparison.render(compared))
        if checks:
            shown.print(requirements.render(checks))
        imported = [sweep.folder.name for sweep in sweeps if sweep.lab.get("engine") == "imported"]
        if imported:
            say(f"Imported: {', '.join(imported)}. Their measurement error is unknown.")
    if failed := requirements.summary(checks):
        say(f"bentpipe: {failed}")
        raise typer.Exit(1)
