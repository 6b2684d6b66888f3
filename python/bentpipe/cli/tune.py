"""`bentpipe tune` on the command line."""

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bentpipe import interruption
from bentpipe.cli.saying import say, tell
from bentpipe.errors import TuneError, clause
from bentpipe.words.printable import printable_json

if TYPE_CHECKING:
    from bentpipe.tune.machine import Machine
    from bentpipe.tune.measuring import Measurement
    from bentpipe.tune.path import TunedPath
    from bentpipe.tune.plan import Plan

_MOST_WIDTH = 100
_LEAST_RATE_BIT_S, _MOST_RATE_BIT_S = 1_000, 1_000_000_000_000
_LEAST_RTT_NS, _MOST_RTT_NS = 1_000, 60_000_000_000
_USUAL_PAIRS = 12
_PATIENCE_S = 10.0
"""How long --undo waits for programs that a killed --apply left running."""


_READ_BY = {
    **dict.fromkeys(("--measure", "--to", "--unproved", "--pairs", "--less-is-better"), ("--apply",)),
    "--force": ("--undo",),
}
"""The actions that read an option; others are read by --plan and --apply."""
_NEEDED_BESIDE = {
    "--transfer": ("--from",),
    "--pairs": ("--measure", "--to"),
    "--less-is-better": ("--measure",),
}


def tune(
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what would be set and why; change nothing. The default.")
    ] = False,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Set it, measure old and new values in pairs, keep it if better."),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Restore all old values, also after a crash in the middle.")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Print what is applied, and its proof.")] = False,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A report of `bentpipe doctor --json`; - is stdin."),
    ] = None,
    transfer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A transfer of the report. Default: the one with most bytes."),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate of the path, all IP bytes: 20Mbit/s.")
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(metavar="TIME", help="Base round trip of the path: 300ms.")
    ] = None,
    here: Annotated[
        Literal["sender", "receiver", "both"] | None,
        typer.Option(help="What this host does on the path. Default: both; with --from, the observed end."),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME", help="Choose a change that the plan only offers; repeatable."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Leave out a change of the plan; repeatable.")
    ] = None,
    destination: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Tune the route and device to this address. Default: the default routes."
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="The proof: a shell command that prints a number (more is better); else its time counts.",
        ),
    ] = None,
    less_is_better: Annotated[
        bool, typer.Option("--less-is-better", help="A smaller number of --measure is better.")
    ] = False,
    to: Annotated[
        str | None, typer.Option(metavar="SERVER", help="The proof: iperf3 with this server, 10 s each.")
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=3, max=100, metavar="N", help=f"At most N pairs of measurements. Default: {_USUAL_PAIRS}."
        ),
    ] = None,
    unproved: Annotated[bool, typer.Option("--unproved", help="Apply without a measurement.")] = False,
    until_reboot: Annotated[
        bool, typer.Option("--until-reboot", help="Write no file in /etc/sysctl.d.")
    ] = False,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keep the drop-in file and the journal below DIR, for tests. Default: the environment's "
            "BENTPIPE_TUNE_ROOT, or /.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --undo: also restore settings that somebody else changed since."),
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
) -> None:
    """Tune this host's TCP for a long path, prove the effect by measurement, or undo it.

    Without --apply or --undo it changes nothing. It never makes a buffer smaller.

    Examples:

        bentpipe tune --rate 20Mbit/s --rtt 300ms

        bentpipe doctor slow.pcap --json > slow.json; bentpipe tune --from slow.json

        bentpipe tune --from slow.json --apply --measure "curl -so /dev/null http://server/10MB"

        bentpipe tune --status

        bentpipe tune --undo
    """
    asked = [
        name
        for name, on in (("--plan", plan), ("--apply", apply), ("--undo", undo), ("--status", status))
        if on
    ]
    if len(asked) > 1:
        raise TuneError(f"tune: found {' and '.join(asked)}; expected one of them")
    _refuse_unused(
        asked[0] if asked else "--plan",
        {
            "--from": from_,
            "--rate": rate,
            "--rtt": rtt,
            "--here": here,
            "--transfer": transfer,
            "--with": with_,
            "--without": without,
            "--destination": destination,
            "--until-reboot": until_reboot,
            "--measure": measure,
            "--to": to,
            "--unproved": unproved,
            "--pairs": pairs,
            "--less-is-better": less_is_better,
            "--force": force,
        },
    )
    if root == "":
        raise TuneError('--root: found ""; expected a folder')
    if sys.platform != "linux":
        raise TuneError("tune needs Linux; `bentpipe calc` says what a path needs on any system")
    from bentpipe.tune.machine import Machine

    machine = Machine()
    if undo or status:
        _undo(machine, root, force=force, json_=json_) if undo else _status(root, json_=json_)
        return
    from bentpipe.tune.plan import plan as planned

    path = _path(from_, transfer, rate, rtt, here)
    address = None if destination is None else _address(destination)
    the_plan = planned(path, machine, add=with_ or (), leave=without or (), address=address)
    if not apply:
        _print_plan(the_plan, machine, root, until_reboot=until_reboot, json_=json_)
        return
    proving = _measurement(measure, to, path, less_is_better=less_is_better)
    if (proving is None) != unproved:
        raise TuneError(
            "--apply needs a measurement as proof: --measure COMMAND or --to SERVER; "
            "--unproved applies without proof"
            if proving is None
            else "found --unproved beside a measurement; expected one of the two"
        )
    most_pairs = _USUAL_PAIRS if pairs is None else pairs
    _apply(the_plan, machine, root, proving, most_pairs, until_reboot=until_reboot, json_=json_)


def _refuse_unused(action: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the action would not read. `options`: their values, None or false if not given."""
    given = [name for name, value in options.items() if value or value == ""]
    for name in given:
        actions = _READ_BY.get(name, ("--plan", "--apply"))
        if action not in actions:
            raise TuneError(
                f"{name} needs {actions[0]}" if len(actions) == 1 else f"{name} does nothing with {action}"
            )
        if (needed := _NEEDED_BESIDE.get(name)) and not set(needed) & set(given):
            raise TuneError(f"{name} needs {' or '.join(needed)}")


def _path(
    report: Path | None, transfer: str | None, rate: str | None, rtt: str | None, here: Any
) -> "TunedPath":
    from dataclasses import replace

    from bentpipe.tune.path import TunedPath, from_report

    if report is None:
        if rate is None or rtt is None:
            raise TuneError(
                "tune needs a path: --from REPORT (a report of `bentpipe doctor --json`), or --rate and "
                "--rtt, such as --rate 20Mbit/s --rtt 300ms"
            )
        path = TunedPath(here or "both")
    else:
        stdin = str(report) == "-"
        path = from_report(Path("/dev/stdin") if stdin else report, transfer, here, "stdin" if stdin else "")
    rate_bit_s = path.rate_bit_s if rate is None else float(_rate_bit_s(rate))
    rtt_s = path.rtt_s if rtt is None else _rtt_ns(rtt) / 1e9
    return replace(path, rate_bit_s=rate_bit_s, rtt_s=rtt_s)


def _rate_bit_s(text: str) -> int:
    from bentpipe.lab.units import parse_rate

    found = _parsed("--rate", text, parse_rate)
    if not _LEAST_RATE_BIT_S <= found <= _MOST_RATE_BIT_S:
        raise TuneError(f'--rate: found "{text}"; expected 1 kbit/s to 1 Tbit/s')
    return found


def _rtt_ns(text: str) -> int:
    from bentpipe.lab.units import parse_time

    found = _parsed("--rtt", text, parse_time)
    if not _LEAST_RTT_NS <= found <= _MOST_RTT_NS:
        raise TuneError(f'--rtt: found "{text}"; expected a round trip of 1 us to 60 s')
    return found


def _parsed(option: str, text: str, parse: Callable[[object], int]) -> int:
    from bentpipe.lab.errors import FaultError
    from bentpipe.words.faults import shown

    try:
        return parse(text)
    except FaultError as error:
        raise TuneError(f"{option}: found {error.found or shown(text)}; {clause(error.remedy)}") from None


def _address(text: str) -> str:
    import ipaddress

    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        raise TuneError(
            f'--destination: found "{text}"; expected an IP address, such as 192.0.2.1 or 2001:db8::1'
        ) from None
    if found.is_loopback or found.is_unspecified or found.is_multicast:
        raise TuneError(f'--destination: found "{text}"; expected the address of another host')
    return str(found)


def _measurement(
    command: str | None, server: str | None, path: "TunedPath", *, less_is_better: bool
) -> "Measurement | None":
    from bentpipe.tune.measuring import OfCommand, OfIperf3

    if command is not None and server is not None:
        raise TuneError("found --measure and --to; expected one of them")
    if command is not None:
        return OfCommand(command, less_is_better)
    if server is not None:
        from bentpipe.doctor.active import program
        from bentpipe.doctor.active import server as read_server

        of = read_server(server)
        program()
        return OfIperf3(of.host, path.receives, of.port)
    return None


def _print_plan(
    plan: "Plan", machine: "Machine", root: str | None, *, until_reboot: bool, json_: bool
) -> None:
    from bentpipe.tune.words import plan_lines

    if json_:
        print(printable_json(plan.as_json()))
        return
    from bentpipe.tune.applying import refusal
    from bentpipe.tune.files import Places

    _tell(plan_lines(plan, _width()))
    why = refusal(machine, Places.below(root), until_reboot=until_reboot)
    say(f"Nothing was changed. To apply and prove it, add: --apply --measure COMMAND{_but(why)}")


def _but(why: str | None) -> str:
    return "" if why is None else f"\nHere it would be refused: {why}."


def _apply(
    plan: "Plan",
    machine: "Machine",
    root: str | None,
    measure: "Measurement | None",
    most_pairs: int,
    *,
    until_reboot: bool,
    json_: bool,
) -> None:
    from bentpipe.tune.applying import apply
    from bentpipe.tune.files import Places, only_one
    from bentpipe.tune.proving import prove
    from bentpipe.tune.words import outcome_lines, pair_line

    places = Places.below(root)
    told = say if json_ else tell
    interruption.how_to_go_on = lambda: (
        f"to undo: {places.command('--undo')}" if places.journal.exists() else "everything was taken back"
    )

    def proving(switch: Any) -> Any:
        assert measure is not None
        told(f"Measuring before and after in turns, 3 to {most_pairs} pairs: {measure.words}")
        return prove(measure, switch, most_pairs, lambda *pair: told(pair_line(*pair)))

    with only_one(places):
        outcome = apply(plan, machine, places, proving if measure else None, until_reboot=until_reboot)
    if json_:
        entries = [vars(each) for each in outcome.entries]
        proof = outcome.proof.as_json() if outcome.proof else None
        print(printable_json({"kept": outcome.kept, "settings": entries, "proof": proof}))
    elif not plan.chosen:
        tell("Everything is set already; nothing was changed.")
    else:
        _tell(outcome_lines(outcome, places, _width(), until_reboot=until_reboot))
    if plan.chosen and not outcome.kept:
        raise typer.Exit(1)


def _undo(machine: "Machine", root: str | None, *, force: bool, json_: bool) -> None:
    from bentpipe.tune.applying import undo
    from bentpipe.tune.files import Places, only_one
    from bentpipe.tune.words import taken_back_lines

    places = Places.below(root)
    if not places.folder.exists():
        found = None
    else:
        with only_one(places, _PATIENCE_S):
            found = undo(machine, places, force=force)
    if json_:
        print(
            printable_json(
                {
                    "restored": [vars(each) for each in found.restored] if found else [],
                    "changed_since": [{**vars(each), "found": now} for each, now in found.theirs]
                    if found
                    else [],
                    "failed": list(found.failed) if found else [],
                }
            )
        )
    elif found is None:
        tell("No tune is applied; nothing was changed.")
    else:
        _tell(taken_back_lines(found, places, _width()))
    if found is not None and (found.failed or found.theirs):
        raise typer.Exit(1)


def _status(root: str | None, *, json_: bool) -> None:
    from bentpipe.tune import journal
    from bentpipe.tune.files import Places
    from bentpipe.tune.words import status_lines

    places = Places.below(root)
    found = journal.read(places)
    if json_:
        print(
            printable_json(
                {
                    "state": "none" if found is None else found.state,
                    "settings": [vars(each) for each in found.entries] if found else [],
                    "proof": found.proof if found else None,
                }
            )
        )
    else:
        _tell(status_lines(found, places, _width()))


def _width() -> int:
    return min(shutil.get_terminal_size((_MOST_WIDTH, 24)).columns, _MOST_WIDTH)


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        tell(line)
