"""`bentpipe query` on the command line."""

from typing import Annotated

import typer

from bentpipe.cli.saying import console, write_lines


def query(
    asked: Annotated[
        list[str],
        typer.Argument(
            metavar='DIR [DIR ...] ["SQL"]',
            help="Folders that `bentpipe run` wrote, or URLs; then the question.",
        ),
    ],
    *,
    csv: Annotated[bool, typer.Option("--csv", help="The whole answer as CSV.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object per row, each on a line.")] = False,
) -> None:
    """Query the runs of a folder in SQL: tables runs, link, flows, sockets, pings, tools.

    The dialect is DuckDB's. The files are read in place.

    Without SQL, list the tables with their columns and some questions. With several folders, every table has
    the column `folder`. A query only reads, and only these tables.

    Examples:

        bentpipe query runs/latency

        bentpipe query runs/latency "select rtt_s, avg(workload.download.goodput_mbit_s) from runs group by 1"

        bentpipe query runs/before runs/after "from flows where outcome <> 'finished'" --csv
    """
    from bentpipe.query.questions import Questions
    from bentpipe.report import answer, tables_listed
    from bentpipe.runs.store import Results

    if csv and json_:
        raise typer.BadParameter("expected one of --csv and --json")
    *folders, last = asked
    sql = last if folders and any(space in last for space in " \n\t") else None
    sweeps = [Results.open(folder) for folder in (folders if sql else asked)]
    shown = console()
    if sql is None:
        shown.print(tables_listed.listed(sweeps, " ".join(asked)))
        return
    with Questions.open(sweeps) as questions:
        found = questions.ask(sql)
        if csv or json_:
            write_lines(answer.csv_lines(found) if csv else answer.json_lines(found))
        else:
            shown.print(answer.Table(found))
