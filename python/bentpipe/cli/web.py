"""`bentpipe web` on the command line."""

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.cli.saying import say, tell


def web(
    runs: Annotated[
        Path, typer.Option("--runs", metavar="DIR", help="The folder of runs to show; new runs go there too.")
    ] = Path("runs"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="The port to use. Default: any free port.")
    ] = 0,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Serve a page on this machine: the playground, running labs, and reports.

    Only this machine can reach it, and only with the printed address, which has a new token at each
    start. It stores only the runs. Ctrl-C ends it and a run that it has started.

    Examples:

        bentpipe web

        bentpipe web --runs /data/runs --port 8600 --no-open
    """
    from bentpipe.web.serve import serve

    def ready(url: str) -> None:
        tell(url)
        say("Only this machine can open it. Ctrl-C ends it, and a run that it has started.")

    serve(runs, port, opens=opens, say=ready)
