"""Applies a plan's changes and undoes them.

The order makes every moment one that can be taken back:

1. The journal with all old values is on the disk before the first change.
2. Settings are written one by one, each by one system call or netlink message.
3. The proof switches between old and new values. The drop-in file is not there yet, so a machine that
   goes down meanwhile starts with the old values.
4. If the change is kept, the drop-in file is written, then the journal says "applied".

Taking back goes the same way: the drop-in file first, then the settings, and the journal last.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.errors import TuneError
from bentpipe.tune import journal
from bentpipe.tune.drop_in import drop_in_text, has_drop_in, later
from bentpipe.tune.files import Places, flush_folder, make_folder, remove, remove_unfinished, write_whole
from bentpipe.tune.journal import Entry, Journal
from bentpipe.tune.machine import Machine
from bentpipe.tune.plan import Change, Plan
from bentpipe.tune.proving import Proof, Which
from bentpipe.tune.settings import Setting, made, plainly, programs_output

Prove = Callable[[Callable[[Which], None]], Proof]


@dataclass(frozen=True)
class Outcome:
    kept: bool
    entries: Sequence[Entry]
    proof: Proof | None
    left_out: Sequence[str]
    """Sentences on what could not be set, or will not last."""


@dataclass(frozen=True)
class TakenBack:
    restored: Sequence[Entry]
    theirs: Sequence[tuple[Entry, str]]
    """What somebody changed since, with the value that was found: left as it is."""
    failed: Sequence[str]


def refusal(machine: Machine, places: Places, *, until_reboot: bool) -> str | None:
    """Why nothing can be applied here, or None."""
    if machine.is_read_only:
        return (
            "/proc/sys is read-only here, as in a container without privileges: nothing that is set would "
            "have an effect. Run tune on the host"
        )
    if os.geteuid() != 0:
        return "only root may set sysctls; run it as root, or look at the plan with --plan"
    if not (machine.is_first_namespace or until_reboot or places.is_redirected) and not _is_inits():
        return (
            "this is a network namespace of its own, and what is set here ends with it, while a file in "
            "/etc/sysctl.d would set the host at its next start. Use --until-reboot, which writes no such "
            "file, or run tune on the host"
        )
    return None


def _is_inits() -> bool:
    """Whether the first process of this system, or container, is in this network namespace."""
    try:
        return Path("/proc/1/ns/net").readlink() == Path("/proc/self/ns/net").readlink()
    except OSError:
        return False


def apply(
    plan: Plan, machine: Machine, places: Places, prove: Prove | None, *, until_reboot: bool
) -> Outcome:
    """Set the chosen changes; with `prove`, keep them only if they are shown to be better.

    The caller holds the lock (`files.only_one`). Raises TuneError where it is refused, or fails: then
    everything was taken back, or the message says what was not.
    """
    why = refusal(machine, places, until_reboot=until_reboot)
    if why is not None:
        raise TuneError(why)
    present = journal.read(places)
    if present is not None and present.state != "applied":
        raise TuneError(_not_taken_back(present, places))
    if not plan.chosen:
        return Outcome(present is not None, present.entries if present else (), None, ())
    if present is not None:
        raise TuneError(
            f"a tune of {present.begun} is applied, and this plan is another one; take the first one back: "
            f"{places.command('--undo')}"
        )
    remove_unfinished(places.journal)
    changes, left_out = _possible(plan.chosen)
    if not changes:
        raise TuneError("nothing of the plan can be set here: " + " ".join(left_out))
    entries = [Entry(each.setting.kind, each.setting.name, each.now, each.wanted) for each in changes]
    begun = journal.begun(places, entries, why=_why(plan), until_reboot=until_reboot)
    begun.write(places)
    with _taking_back(begun, places):
        if has_drop_in(begun):
            make_folder(places.drop_in.parent)
        _switch(entries, "after")
        proof = None
        if prove is not None:
            proof = prove(lambda which: _switch(entries, which, fresh=True))
            if proof.verdict == "better":
                _switch(entries, "after")
        if proof is None or proof.verdict == "better":
            _keep(begun, places, proof)
            names = [each.name for each in entries if each.kind == "sysctl"]
            return Outcome(True, entries, proof, [*left_out, *(() if until_reboot else later(places, names))])
    _orderly(take_back(begun, places), places)
    return Outcome(False, entries, proof, left_out)


def _not_taken_back(present: Journal, places: Places) -> str:
    if present.state == "left":
        names = ", ".join(each.name for each in present.entries)
        return (
            f"an earlier tune is not wholly taken back: somebody changed {names} since. To restore that: "
            f"{places.command('--undo --force')}; to keep it: rm {places.journal}"
        )
    return f"an earlier tune was interrupted; take it back first: {places.command('--undo')}"


def _keep(begun: Journal, places: Places, proof: Proof | None) -> None:
    told: dict[str, Any] | None = proof.as_json() if proof else None
    if has_drop_in(begun):
        write_whole(places.drop_in, drop_in_text(places, begun, told).encode("utf-8"))
    begun.with_state("applied", told).write(places)


def _why(plan: Plan) -> str:
    path = plan.path
    rate = "" if path.rate_bit_s is None else f"{path.rate_bit_s / 1e6:g} Mbit/s, "
    source = f", from {path.source}" if path.source else ""
    return f"a path of {rate}RTT {1e3 * (path.rtt_s or 0):g} ms{source}"


def _possible(changes: Sequence[Change]) -> tuple[list[Change], list[str]]:
    """The settings whose current value the kernel accepts, so every change can be undone."""
    possible, left_out = [], []
    for each in changes:
        try:
            each.setting.write(each.now)
            possible.append(each)
        except TuneError as error:
            left_out.append(f"{error}, so tune could not put it back; it is left as it is.")
    return possible, left_out


def _switch(entries: Sequence[Entry], which: Which, *, fresh: bool = False) -> None:
    """Set all old or all new values. `fresh`: forget what TCP learnt of the path by earlier connections."""
    for each in entries:
        _set(made(each.kind, each.name), each.old if which == "before" else each.new)
    if fresh:
        with suppress(TuneError):
            programs_output(("ip", "tcp_metrics", "flush"))


def _set(setting: Setting, value: str) -> None:
    """Write a value and read it again."""
    now = setting.read()
    if now is not None and setting.same(now, value):
        return
    setting.write(value)
    found = setting.read()
    if found is None or not setting.same(found, value):
        raise TuneError(
            f"{setting.name}: set to {plainly(value)}, and then read as {plainly(found or 'nothing')}"
        )


@contextmanager
def _taking_back(begun: Journal, places: Places) -> Iterator[None]:
    """Whatever goes wrong inside, or a signal that ends the process, takes everything back."""
    kept = {number: signal.signal(number, _interrupted) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except TuneError as error:
        _orderly(take_back(begun, places), places)
        raise TuneError(f"{error}\nEverything was taken back.") from error
    except BaseException:
        _orderly(take_back(begun, places), places)
        raise
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _interrupted(number: int, _frame: Any) -> None:
    raise KeyboardInterrupt(number)


def _orderly(done: TakenBack, places: Places) -> None:
    if done.failed:
        raise TuneError(f"not taken back: {'; '.join(done.failed)}. To try again: {places.command('--undo')}")
    if done.theirs:
        names = ", ".join(each.name for each, _ in done.theirs)
        raise TuneError(
            f"not taken back: {names}, which somebody changed meanwhile. To restore that: "
            f"{places.command('--undo --force')}"
        )


def take_back(of: Journal, places: Places, *, force: bool = False) -> TakenBack:
    """Restore the drop-in file and every setting, then remove the journal.

    A setting that has neither the old value nor tune's was changed by somebody else. It is left as it is,
    unless `force`, and the journal stays for it. The whole journal stays if a setting cannot be restored.
    """
    if of.state != "left":
        _restore_drop_in(of, places)
    restored, theirs, failed = [], [], []
    for each in of.entries:
        setting = made(each.kind, each.name)
        now = setting.read()
        if now is None:
            if of.boot == journal.boot() and not force:
                failed.append(f"{each.name} is not there")
        elif setting.same(now, each.old):
            continue
        elif not force and not setting.same(now, each.new):
            theirs.append((each, now))
        else:
            try:
                _set(setting, each.old)
                restored.append(each)
            except TuneError as error:
                failed.append(str(error))
    if theirs and not failed:
        of.of_left([each for each, _ in theirs]).write(places)
    elif not failed:
        remove(places.journal)
    return TakenBack(restored, theirs, failed)


def _restore_drop_in(of: Journal, places: Places) -> None:
    file = places.drop_in
    remove_unfinished(file)
    if of.drop_in.content is None:
        remove(file)
    else:
        write_whole(file, of.drop_in.content, of.drop_in.mode)
    for folder in map(Path, of.made_folders):
        with suppress(OSError):
            folder.rmdir()
            flush_folder(folder.parent)


def undo(machine: Machine, places: Places, *, force: bool) -> TakenBack | None:
    """Take back what is applied, or what an interrupted tune left. None where there is nothing.

    The caller holds the lock. Raises TuneError where the journal is of another network namespace.
    """
    found = journal.read(places)
    if found is None:
        remove_unfinished(places.journal)
        return None
    if os.geteuid() != 0:
        raise TuneError("taking settings back takes root; run it as root")
    if found.boot == journal.boot() and found.namespace != journal.namespace():
        raise TuneError(
            f"{places.journal} is of another network namespace ({found.namespace}); run --undo there. If "
            "that namespace has ended, its settings ended with it: remove the file, and the drop-in file "
            f"{places.drop_in}"
        )
    if machine.is_read_only:
        raise TuneError("/proc/sys is read-only here; run --undo on the host")
    return take_back(found, places, force=force)
