"""The command line. Results go to stdout, progress and errors to stderr.

Exit status: 0 done, 1 some run failed or is unreliable, 2 the request was wrong, 130 interrupted.
"""

import errno
import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from bentpipe import interruption
from bentpipe.calculator.command import calc
from bentpipe.commands.compare import compare
from bentpipe.commands.export import export
from bentpipe.commands.import_ import import_
from bentpipe.commands.plain_help import PlainCommand, without_types
from bentpipe.commands.query import query
from bentpipe.commands.run import run
from bentpipe.commands.saying import print_table, say, tell
from bentpipe.commands.shell import shell
from bentpipe.engines.base import EngineError, EngineFaultError
from bentpipe.executors.errors import ExecutorError
from bentpipe.lab import LabError
from bentpipe.results import ComparisonError, Results, StoreError

_FAILED = 1
_WRONG = 2


# Typer keeps the class to itself, but not this child of it.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class _Commands(TyperGroup):
    """Turns what a user can mend into one message and a status, before typer sees it."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **named: Any) -> Any:
        if not args:
            return super().make_context(info_name, args, *more, **named)  # raises the help as an error
        try:
            typed = tuple(args)
            context = super().make_context(info_name, args, *more, **named)
            context.obj = typed
            return context  # noqa: TRY300 - what is raised above is answered below
        except _UsageError as error:
            _fail(_usage(error, "bentpipe"), _WRONG)

    def get_params(self, ctx: Any) -> Any:
        return without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            _fail(_usage(error, f"bentpipe {ctx.invoked_subcommand or ''}".strip()), _WRONG)
        except (EngineFaultError, ExecutorError) as error:
            _fail(f"bentpipe: {error}", _FAILED)
        except (LabError, EngineError, StoreError, ComparisonError) as error:
            _fail(f"bentpipe: {error}", _WRONG)
        except KeyboardInterrupt:
            _fail(interruption.said(), interruption.INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read our output has gone; click ends quietly
            place = f"{error.filename}: " if error.filename else ""
            running = ctx.invoked_subcommand == "run"
            lost = "; the run under way is discarded, those that were finished are kept" if running else ""
            _fail(f"bentpipe: {place}{error.strerror or error}{lost}", _FAILED)


app = typer.Typer(
    name="bentpipe",
    cls=_Commands,
    help="A laboratory for TCP over long paths: reproduce, see, try, prove.",
    epilog="Begin with `bentpipe labs`, then `bentpipe run intercontinental-tuning --engine sim`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None: ...


app.command(cls=PlainCommand)(run)


@app.command(cls=PlainCommand)
def report(
    folders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR ...]",
            help="Folders that `bentpipe run` wrote, or URLs of them. Default: the one in runs/ "
            "that was written last.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where the page goes. Default report.html in DIR; of a URL, here."),
    ] = None,
    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write each chart there too, as PNG, SVG and PDF.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Print every row of the tables; of long ones the first by default.")
    ] = False,
) -> None:
    """Print the table of a sweep and write its page: one HTML file below 10 MB with every chart in it.

    Of several folders each has a table and a page of its own; `bentpipe compare` compares them.

    Examples:

        bentpipe report

        bentpipe report runs/effects-of-latency-2026-01-31 --html latency.html

        bentpipe report runs/effects-of-latency-2026-01-31 --charts charts
    """
    if folders and len(folders) > 1 and (html or charts):
        option = "--html" if html else "--charts"
        raise typer.BadParameter(f"{option} is for one folder; {len(folders)} are given")
    for folder in folders or [_newest()]:
        _report(folder, html, charts, full=full)


def _newest() -> str:
    from bentpipe.sweep_folder import newest  # noqa: PLC0415 - as above

    folder = newest(Path("runs"))
    if folder is None:
        raise StoreError("there are no runs in runs/; say which folder: bentpipe report DIR")
    say(f"The newest runs are in {folder}.")
    return str(folder)


def _report(folder: str, html: Path | None, charts: Path | None, *, full: bool) -> None:
    from bentpipe.progress import counting  # noqa: PLC0415 - as above
    from bentpipe.report.html import write  # noqa: PLC0415 - as above

    results = Results.open(folder)
    print_table(results, full=full)
    file = html or (results.folder.path or Path()) / "report.html"
    with counting("preparing the page", "runs drawn", len(results.names)) as told:
        write(results, file, told)
    say(f"Written: {file}")
    if charts:
        from bentpipe.charts import RUNS_DRAWN, save_all  # noqa: PLC0415 - as above

        say(f"Written: {len(save_all(results, charts))} files in {charts}")
        if len(results.runs) > RUNS_DRAWN:
            say(
                f"Of {len(results.runs)} runs only the charts over all were drawn. A run's own: "
                f"bentpipe report {results.folder / results.names[0]} --charts DIR"
            )


app.command(cls=PlainCommand)(shell)
app.command(cls=PlainCommand)(calc)
app.command(cls=PlainCommand)(compare)
app.command(cls=PlainCommand)(query)
app.command("import", cls=PlainCommand)(import_)
app.command(cls=PlainCommand)(export)


@app.command(cls=PlainCommand)
def labs() -> None:
    """List the labs that come with bentpipe."""
    from bentpipe.lab import catalogue  # noqa: PLC0415 - as above

    for name, title in catalogue():
        tell(f"{name:24} {title}")
    say("Run one in virtual time: bentpipe run NAME --engine sim")


@app.command(cls=PlainCommand)
def schema() -> None:
    """Print the lab file's JSON schema, for editors."""
    from bentpipe.lab import json_schema  # noqa: PLC0415 - as above

    print(json.dumps(json_schema(), indent=1, ensure_ascii=False))


@app.command(cls=PlainCommand)
def version() -> None:
    """Print bentpipe's version."""
    from bentpipe import _core  # noqa: PLC0415 - as above

    print(f"bentpipe {_core.__version__}")


def _fail(message: str, status: int) -> NoReturn:
    say(message)
    sys.exit(status)


def _usage(error: Any, command: str) -> str:
    """What is wrong with the command line itself, in one line."""
    said = str(error.format_message()).rstrip(".?").replace(". Did", "; did")
    return f"bentpipe: {said[:1].lower()}{said[1:]}; try {command} --help"


def main() -> None:
    interruption.watch()
    app(prog_name="bentpipe")
