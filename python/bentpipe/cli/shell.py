"""`bentpipe shell` on the command line."""

from enum import StrEnum
from typing import Annotated, Literal

import typer

from bentpipe.cli.lab_options import LabArgument, SeedOption, SetOption, VariantOption, load
from bentpipe.cli.saying import say


class Listen(StrEnum):
    IPERF3 = "iperf3"
    HTTP = "http"
    NONE = "none"


_SERVERS: dict[Listen, Literal["iperf3", "http"]] = {Listen.IPERF3: "iperf3", Listen.HTTP: "http"}


def shell(
    lab: LabArgument,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND ...]", help="Default: your shell.")
    ] = None,
    *,
    set_: SetOption = None,
    variant: VariantOption = None,
    seed: SeedOption = None,
    host: Annotated[
        Literal["client", "near", "server"], typer.Option(help="The host where the shell or command runs.")
    ] = "client",
    listen: Annotated[
        list[Listen] | None,
        typer.Option(
            metavar="iperf3|http|none",
            help="A server to start at the other end, or none; repeatable. "
            "Default: iperf3 and http, if installed.",
        ),
    ] = None,
) -> None:
    """Open a shell, or run a command, at a host of a live path.

    The host is the client; `--host` chooses another.

    The other end runs an iperf3 server (port 5201) and a web server (port 80) with files of 1MB to 10GB.

    Examples:

        bentpipe shell effects-of-latency

        bentpipe shell effects-of-latency --set path.rtt="550 ms" -- ping -c 3 server

        bentpipe shell my.toml -- iperf3 -c server

        bentpipe shell my.toml -- curl -o /dev/null http://server/10MB

        bentpipe shell my.toml --host server
    """
    from bentpipe.engines import shell as live_shell

    points = load(lab, set_, variants=variant, seed=seed, repeat=1).points()
    point = points[0]
    if len(points) > 1:
        values = ", ".join(f"{key} = {value}" for key, value in point.point.items())
        say(
            f"The lab has {len(points)} points; this is the first: {point.variant}"
            f"{f', {values}' if values else ''}. Choose another with --set and --variant."
        )
    listeners = None if listen is None else [_SERVERS[each] for each in listen if each in _SERVERS]
    raise typer.Exit(live_shell.run(point, command or [], host=host, listen=listeners))
