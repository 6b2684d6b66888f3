"""A plan, an outcome and a state in words, for a terminal."""

import textwrap
from collections.abc import Iterator, Sequence

from bentpipe.tune.applying import Outcome, TakenBack
from bentpipe.tune.files import Places
from bentpipe.tune.journal import Entry, Journal, boot
from bentpipe.tune.measuring import Figure
from bentpipe.tune.path import Prediction, TunedPath
from bentpipe.tune.plan import Change, Plan
from bentpipe.tune.proving import Proof
from bentpipe.tune.settings import made, plainly
from bentpipe.words.digits import digits
from bentpipe.words.wording import duration, percent, plural, rate, ratio_interval, size

_NOT_SURVIVING = "does not survive a reboot"


def plan_lines(plan: Plan, width: int) -> Iterator[str]:
    """The whole plan, no line wider than `width`."""
    yield from _wrapped(_path_words(plan.path), width)
    yield ""
    if plan.chosen:
        yield "tune would set:"
        for each in plan.chosen:
            yield from _change_lines(each, width)
    else:
        yield "Nothing has to be set."
    for heading, sentences in (
        ("Cannot be set here:", plan.impossible),
        ("What only the other end or the program can do:", plan.elsewhere),
    ):
        if sentences:
            yield ""
            yield heading
            for sentence in sentences:
                yield from _wrapped(sentence, width, "- ")
    for sentence in plan.needless:
        yield ""
        yield from _wrapped(sentence, width)
    if plan.enough:
        yield ""
        yield from _wrapped(f"Large enough, or on, already: {'; '.join(plan.enough)}.", width)
    if plan.offered:
        yield ""
        yield "Chosen only if asked for, with --with NAME:"
        for each in plan.offered:
            yield from _change_lines(each, width)


def _rate_words(path: TunedPath) -> str:
    if path.rate_bit_s is not None:
        return rate(path.rate_bit_s)
    return "rate unknown" if path.inferred_bit_s is None else f"rate about {rate(path.inferred_bit_s)}"


def _path_words(path: TunedPath) -> str:
    parts = [
        _rate_words(path),
        "RTT unknown" if path.rtt_s is None else f"RTT {duration(path.rtt_s)}",
    ]
    if path.bdp_bytes is not None:
        parts.append(f"BDP {size(path.bdp_bytes)}")
    if path.loss:
        parts.append(f"loss {percent(path.loss)}")
    does = {"sender": "sends", "receiver": "receives", "both": "sends and receives"}[path.here]
    words = f"Path: {', '.join(parts)}. This host {does}."
    if path.transfer:
        first = next(iter(path.limits), "nothing found")
        got = "" if path.goodput_bit_s is None else f", {rate(path.goodput_bit_s)}"
        words += f" By {path.source}: {path.transfer}{got}, limited by {first}."
    return words


def _change_lines(each: Change, width: int) -> Iterator[str]:
    mark = f"  {each.key}"
    yield f"{mark:18}{_name(each.setting.kind, each.setting.name)}"
    yield from _wrapped(f"{plainly(each.now)} -> {plainly(each.wanted)}", width, " " * 18)
    if each.prediction is not None:
        yield from _wrapped(_prediction_words(each.prediction), width, "      gives:  ")
    yield from _wrapped(each.why, width, "      why:    ")
    cost = " ".join(part for part in (each.cost, "" if each.survives else f"It {_NOT_SURVIVING}.") if part)
    if cost:
        yield from _wrapped(cost, width, "      cost:   ")


def _name(kind: str, name: str) -> str:
    if kind == "qdisc":
        return f"queue of {name}"
    return f"route {name.removeprefix('-4 ')}" if kind == "route" else name


def _prediction_words(told: Prediction) -> str:
    words = f"{rate(told.goodput_bit_s)} for this transfer by the doctor's simulation"
    if told.high_bit_s is None:
        return f"{words}, if the path carries so much"
    return f"{words} ({rate(told.low_bit_s)} to {rate(told.high_bit_s)})"


def figure_words(of: Figure) -> str:
    if of.unit == "s":
        return duration(of.value)
    return rate(of.value) if of.unit == "bit/s" else digits(of.value)


def pair_line(number: int, before: Figure, after: Figure) -> str:
    return f"  pair {number:2}: {figure_words(before)} before, {figure_words(after)} after"


def proof_words(of: Proof) -> str:
    """The verdict, in a sentence."""
    pairs = f"{len(of.pairs)} pairs"
    times = f"{digits(of.times)} times as good ({ratio_interval(of.low, of.high)}, {pairs})"
    if of.verdict == "better":
        return f"Shown to be better: {times}."
    if of.verdict == "worse":
        return f"Shown to be worse: {times}."
    if of.times == 1:
        return f"Not shown to be better: on average no difference was measured ({pairs})."
    more = "more than 10,000" if of.would_take is None else f"some {of.would_take}"
    return f"Not shown to be better: {times}. A difference of this size would take {more} pairs."


def outcome_lines(of: Outcome, places: Places, width: int, *, until_reboot: bool) -> Iterator[str]:
    for sentence in of.left_out:
        yield from _wrapped(sentence, width)
    if of.proof is not None:
        yield from _wrapped(proof_words(of.proof), width)
    if not of.kept:
        yield "Everything was taken back."
        return
    yield from _kept_lines(of.entries, places, width, until_reboot=until_reboot)


def _kept_lines(entries: Sequence[Entry], places: Places, width: int, *, until_reboot: bool) -> Iterator[str]:
    yield "Set:"
    for each in entries:
        yield from _wrapped(
            f"{_name(each.kind, each.name)}: {plainly(each.old)} -> {plainly(each.new)}", width, "  "
        )
    others = [each for each in entries if each.kind != "sysctl"]
    if until_reboot:
        yield "All of it lasts until the next reboot."
        yield _undo_words(places)
        return
    if len(others) < len(entries):
        yield from _wrapped(_drop_in_words(places), width)
    if others:
        names = ", ".join(_name(each.kind, each.name) for each in others)
        yield from _wrapped(
            f"Lost at a reboot: {names}. Set {'it' if len(others) == 1 else 'them'} in your network's "
            "configuration too (docs/tune.md).",
            width,
        )
    yield _undo_words(places)


def _drop_in_words(places: Places) -> str:
    if places.is_redirected:
        return f"The file for boots is {places.drop_in}. No boot reads it there."
    return f"The sysctls survive a reboot: {places.drop_in} sets them at boot."


def _undo_words(places: Places) -> str:
    return f"Take it back: {places.command('--undo')}"


def taken_back_lines(of: TakenBack, places: Places, width: int) -> Iterator[str]:
    for each in of.restored:
        yield from _wrapped(f"{_name(each.kind, each.name)} is {plainly(each.old)} again.", width)
    for each, found in of.theirs:
        yield from _wrapped(
            f"{_name(each.kind, each.name)} is {plainly(found)}: somebody changed it since tune, which had "
            f"set {plainly(each.new)}. It is left; before tune it was {plainly(each.old)}.",
            width,
        )
    if of.theirs:
        yield f"Restore what is left: {places.command('--undo --force')}"
    for failed in of.failed:
        yield from _wrapped(f"Not taken back: {failed}", width)
    if not (of.restored or of.theirs or of.failed):
        yield "All settings had their old values already; files are as they were."


def status_lines(of: Journal | None, places: Places, width: int) -> Iterator[str]:
    """What is applied, and whether it still holds."""
    if of is None:
        yield "No tune is applied."
        return
    if of.state == "left":
        yield from _wrapped(
            f"A tune of {of.begun} is taken back, but for what somebody changed since:", width
        )
    elif of.state == "at work":
        yield from _wrapped(f"A tune of {of.begun} was interrupted, or is at work.", width)
    else:
        yield from _wrapped(f"A tune of {of.begun} is applied, for {of.why}.", width)
        yield from _wrapped(_proof_kept(of), width)
    for each in of.entries:
        now = made(each.kind, each.name).read()
        holds = now is not None and made(each.kind, each.name).same(now, each.new)
        found = "" if holds else f"; now {plainly(now) if now is not None else 'not there'}"
        yield from _wrapped(
            f"{_name(each.kind, each.name)}: {plainly(each.old)} -> {plainly(each.new)}{found}", width, "  "
        )
    if of.state == "left":
        yield f"Restore what is left: {places.command('--undo --force')}"
        return
    if of.boot != boot():
        what = "all of it was" if of.until_reboot else "routes and queues of devices were"
        yield from _wrapped(f"This host was started anew since; {what} lost then.", width)
    yield _undo_words(places)


def _proof_kept(of: Journal) -> str:
    if of.proof is None:
        return "It was not proved (--unproved)."
    low, high = of.proof["interval"]
    count = plural(len(of.proof["pairs"]), "pair")
    times = f"{digits(of.proof['times'])} times better ({ratio_interval(low, high)}, {count})"
    return f"Proof: {times} by {of.proof['measure']}."


def _wrapped(words: str, width: int, before: str = "") -> list[str]:
    return textwrap.wrap(
        words,
        width,
        initial_indent=before,
        subsequent_indent=" " * len(before),
        break_long_words=False,
        break_on_hyphens=False,
    )
