"""The command `bentpipe`: its own options, and the text around the commands in its help."""

from typing import Annotated

import typer

from bentpipe.cli.group import Commands

# Without rich, which would take longer to load than everything else in the help.
app = typer.Typer(
    name="bentpipe",
    cls=Commands,
    help="A laboratory for TCP over long paths: simulates or measures transfers, and says what limits them.",
    epilog="First steps: type `bentpipe` alone.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from bentpipe.cli.version import version

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
