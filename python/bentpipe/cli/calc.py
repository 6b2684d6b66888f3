"""`bentpipe calc` on the command line."""

import json
from typing import Annotated

from bentpipe.cli.declared import Option


def calc(
    *,
    rate: Annotated[str, Option(metavar="RATE", help="Rate of the link, all IP bytes: 20Mbit/s.")],
    rate_up: Annotated[
        str | None,
        Option(metavar="RATE", help="Rate of the other direction, that of the ACKs. Default: as --rate."),
    ] = None,
    rtt: Annotated[str, Option(metavar="TIME", help="Base round trip, with empty queues: 411ms.")],
    queue: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Size of the bottleneck's queue: 100kB, '250 packets', 60ms or '1 bdp'. "
            "Default: large enough in the formulas; '1 bdp' in sim.",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        Option(metavar="P", help="Probability of a packet loss, without drops of a full queue. Default 0."),
    ] = None,
    rcvbuf: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Largest receive buffer: the third number of tcp_rmem, or twice an SO_RCVBUF. "
            "Default 32 MiB, as in Linux since 6.16.",
        ),
    ] = None,
    sndbuf: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Largest send buffer: the third number of tcp_wmem, or twice an SO_SNDBUF. "
            "Default 4 MiB, as in Linux.",
        ),
    ] = None,
    streams: Annotated[int | None, Option(metavar="N", help="Connections at once. Default 1.")] = None,
    cc: Annotated[
        str | None,
        Option(metavar="NAME", help="Congestion control: reno, cubic, bbr, bbr3 or hybla. Default cubic."),
    ] = None,
    size: Annotated[
        str | None, Option(metavar="SIZE", help="Bytes to carry, for the completion time: 40MB.")
    ] = None,
    time: Annotated[
        str | None,
        Option(metavar="TIME", help="How long to send, for the mean rate from the start: 30s."),
    ] = None,
    mtu: Annotated[int | None, Option(metavar="BYTES", help="Largest IP packet. Default 1500.")] = None,
    program: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="How the sender writes: iperf3, the default; long (a web server's sendfile, writes of "
            "megabytes); short (64 KiB each time the socket is writable, as curl's upload).",
        ),
    ] = None,
    json_: Annotated[bool, Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Compute what a path allows: each limit, which one binds, how long a transfer takes, what to set.

    Then it simulates the same case, packet by packet, and says whether the two agree.

    Examples:

        bentpipe calc --rate 20Mbit/s --rtt 411ms

        bentpipe calc --rate 16Mbit/s --rtt 550ms --queue 100kB --time 30s

        bentpipe calc --rate 100Mbit/s --rtt 150ms --loss 1e-4 --streams 4 --size 100MB --json
    """
    given = {name: value for name, value in locals().items() if value is not None and name != "json_"}
    from bentpipe.calculator.calculation import calc as calculate
    from bentpipe.calculator.words import render
    from bentpipe.words import plain

    found = calculate(**given)
    if json_:
        print(json.dumps(found.as_json(), ensure_ascii=False, allow_nan=False))
    else:
        lines = render(found, plain.terminal_width(otherwise=120))
        print(plain.text(lines, styled=plain.shows_styles()))
