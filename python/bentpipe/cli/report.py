"""`bentpipe report` on the command line."""

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.cli.newest import newest_folder
from bentpipe.cli.saying import print_table, say


def report(
    folders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR ...]",
            help="Folders that `bentpipe run` wrote, or URLs of them. Default: the newest folder in runs/.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page's file. Default: report.html in DIR; for a URL, here."),
    ] = None,
    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write each chart here, as PNG, SVG and PDF.")
    ] = None,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if/--no-what-if",
            help="Let readers change a run's lab and simulate it in the page. Adds 670 kB.",
        ),
    ] = True,
    full: Annotated[
        bool, typer.Option("--full", help="Print every row of long tables, not only the first ones.")
    ] = False,
) -> None:
    """Print the table of a sweep, and write a page with every chart: one HTML file.

    With several folders, each has its own table and page; `bentpipe compare` compares them.

    Examples:

        bentpipe report

        bentpipe report runs/effects-of-latency-2026-01-31 --html latency.html

        bentpipe report runs/effects-of-latency-2026-01-31 --charts charts
    """
    if folders and len(folders) > 1 and (html or charts):
        option = "--html" if html else "--charts"
        raise typer.BadParameter(f"{option} is for one folder; {len(folders)} are given")
    if charts:
        import bentpipe.charts.matplotlib  # noqa: F401 - what it lacks is said before a page is written
    for folder in folders or [newest_folder("report")]:
        _report(folder, html, charts, full=full, what_if=what_if)


def _report(folder: str, html: Path | None, charts: Path | None, *, full: bool, what_if: bool) -> None:
    from bentpipe.report.html import write
    from bentpipe.runs.store import Results
    from bentpipe.sweep.progress import counting

    results = Results.open(folder)
    print_table(results, full=full)
    file = html or (results.folder.path or Path()) / "report.html"
    with counting("preparing the page", "runs drawn", len(results.names)) as told:
        write(results, file, told, with_what_if=what_if)
    say(f"Written: {file}")
    if charts:
        from bentpipe.charts.files import RUNS_DRAWN, save_all

        say(f"Written: {len(save_all(results, charts))} files in {charts}")
        if len(results.records) > RUNS_DRAWN:
            say(
                f"Drew only the charts over all {len(results.records)} runs. For the charts of one run: "
                f"bentpipe report {results.folder / results.names[0]} --charts DIR"
            )
