"""A transfer's evidence to findings: which cause took which share of its time.

Each family of causes says in which samples its causes would explain what was sent. A sample that
several claim goes to the first of `FAMILIES`' order below, so that the shares add up to one. What
nobody claims is `unknown`.

Findings are sorted by what they may cost: the part of what the path could have carried in the whole time
and that was not carried in the finding's samples, if its rate is 5 % above what is seen. If the path's rate
is not known, by their share of the time. A transfer that was carried at 90 % of the path's rate or more has
`capacity` first, and so has one that filled the path for two thirds of its time and only began slowly.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats
from bentpipe.doctor.carried import all_carry, carries_what_it_can
from bentpipe.doctor.claim import Claim, Family, Finding, known
from bentpipe.doctor.evidence import Evidence
from bentpipe.doctor.families.ack_path import ack_path
from bentpipe.doctor.families.at_receiver import at_receiver
from bentpipe.doctor.families.by_packets import by_packets
from bentpipe.doctor.families.capacity import capacity, limited_by_the_sender
from bentpipe.doctor.families.losses import losses
from bentpipe.doctor.families.marks import marks
from bentpipe.doctor.families.mtu import mtu
from bentpipe.doctor.families.no_sack import no_sack
from bentpipe.doctor.families.pacing import pacing
from bentpipe.doctor.families.processor import with_processor
from bentpipe.doctor.families.receive_window import receive_window
from bentpipe.doctor.families.requests import requests
from bentpipe.doctor.families.sender import sender
from bentpipe.doctor.families.slow_start import slow_start, too_short
from bentpipe.doctor.families.split import split
from bentpipe.doctor.families.stalls import stalls
from bentpipe.doctor.neighbours import at_once, connections, joined, neighbours
from bentpipe.doctor.opposite import with_acks_behind
from bentpipe.doctor.ruled_out import DROP, without_ruled_out
from bentpipe.doctor.view import View
from bentpipe.doctor.viewed import view, views
from bentpipe.words.wording import duration, percent

FAMILIES: Mapping[str, Family] = {
    "receive_window": receive_window,
    "sender": sender,
    "slow_start": slow_start,
    "losses": losses,
    "marks": marks,
    "no_sack": no_sack,
    "stalls": stalls,
    "mtu": mtu,
    "pacing": pacing,
    "at_receiver": at_receiver,
    "requests": requests,
    "by_packets": by_packets,
    "split": split,
    "capacity": capacity,
    "ack_path": ack_path,
}
"""By name, a file each."""
ORDER = (
    "mtu",
    "outage",
    "receiver-application",
    "cpu",
    "timeouts",
    "policer",
    "line-drops",
    "capacity",
    "tcp-options",
    "receiver-window",
    "send-buffer",
    "pacing",
    "reordering",
    "ack-path",
    "slow-start",
    "random-loss",
    "short-queue",
    "sender-application",
)
"""Which cause a sample goes to if several claim it: the first of these."""
_LIKELY = 0.5
_OFTEN = 0.25
_SELDOM = 0.05
_SAME_DISTANCE = 0.05
_MOSTLY_FULL = 0.4
"""Least share of the time at capacity of a transfer that has what the path carries."""
_AFTER_THE_START = 2 / 3
"""Share of the time at capacity from which on slow start is only how a transfer begins."""
_EXACT = 0.05
"""A path's rate is known to some 5 %: what may be lost beside what is seen."""
_LEAST_SHARE = 0.005
_MOST = 0.5
_LEAST_SAMPLES = 5
_SHORTEST_S = 0.1
"""A shorter transfer may have fewer, even if they are taken every 10 ms."""
_MOST_UNSEEN = 0.1


@dataclass(frozen=True)
class Diagnosis:
    """A transfer, and what limited it."""

    evidence: Evidence
    view: View
    findings: tuple[Finding, ...]
    neighbours: int = 0
    """Connections of other transfers with which it shared a queue."""
    at_once: float = 0.0
    """How many of them carried payload at a time, in the mean."""


def diagnose(evidence: Evidence) -> Diagnosis:
    """What limited the transfer, the costliest first; there is always a finding."""
    return _diagnosed(evidence, view(evidence))


def diagnose_all(transfers: Iterable[Evidence]) -> list[Diagnosis]:
    """Each of the transfers that one end saw. Those that share a queue with others are judged with the
    connections of these beside their own."""
    seen = with_acks_behind(views(transfers))
    groups: list[_Group] = []
    found = []
    for number, near in enumerate(neighbours(seen)):
        group = next((each for each in groups if each.has(number, near, seen)), None)
        if near and group is None:
            group = _grouped(number, near, seen)
            groups.append(group)
        found.append(
            _diagnosed(seen[number].evidence, seen[number])
            if group is None
            else _within(group, number, seen[number])
        )
    return found


@dataclass(frozen=True)
class _Group:
    """Transfers that share a queue, as one view. Its claims hold for each of them that is like the first."""

    members: tuple[int, ...]
    first_connections: Mapping[int, int]
    seen: View
    claims: Sequence[Claim]

    def has(self, number: int, near: Sequence[int], views: Sequence[View]) -> bool:
        of, first = views[number], views[self.members[0]]
        return set(self.members) == {number, *near} and _alike(of, first)


def _alike(one: View, other: View) -> bool:
    """Whether what the families ask of the evidence is the same of both."""
    of, beside = one.evidence, other.evidence
    same = all(
        getattr(of, name) == getattr(beside, name)
        for name in ("congestion_control", "mss_bytes", "sender_offered", "receiver_offered", "of_packets")
    )
    near_s = _SAME_DISTANCE * (one.base_rtt_s or 0.0)
    return same and abs((one.base_rtt_s or 0.0) - (other.base_rtt_s or 0.0)) <= near_s


def _grouped(number: int, near: Sequence[int], views: Sequence[View]) -> _Group:
    members = (number, *near)
    counts = [connections(views[each].evidence) for each in members]
    firsts = dict(zip(members, itertools.accumulate(counts[:-1], initial=0), strict=True))
    of = views[number]
    seen = view(joined(of, [views[each] for each in near]), of.paths_base_s)
    return _Group(members, firsts, seen, _claims(seen))


def _within(group: _Group, number: int, of: View) -> Diagnosis:
    first = group.first_connections[number]
    own = (group.seen.connection >= first) & (group.seen.connection < first + connections(of.evidence))
    seen = replace(group.seen, evidence=replace(of.evidence, samples=group.seen.evidence.samples))
    found = _diagnosed(of.evidence, seen, own, group.claims)
    if seen.evidence.of_packets and not (
        found.findings[0].kind == "capacity" and seen.capacity_from == "queue"
    ):
        # The trees of captures know the losses of single connections only.
        return _diagnosed(of.evidence, of)
    count = seen.connections.size - np.unique(seen.connection[own]).size
    return replace(found, view=seen.of(own), neighbours=count, at_once=at_once(seen, own))


def _diagnosed(
    evidence: Evidence, seen: View, own: Flags | None = None, claims: Sequence[Claim] | None = None
) -> Diagnosis:
    """`own`: the samples of the transfer itself, if the view has its neighbours, too. `claims`: of the view,
    if they are known."""
    if evidence.unseen_share > _MOST_UNSEEN:
        return Diagnosis(evidence, seen, (_incomplete(evidence.unseen_share),))
    counts = _counted(seen) if own is None else _counted(seen) & own
    if seen.size < _LEAST_SAMPLES or not counts.any():
        only = too_short(seen) or _too_little(evidence, min(seen.size, int(counts.sum())))
        return Diagnosis(evidence, seen, (only,))
    claims = with_processor(seen, _claims(seen) if claims is None else claims)
    weights = np.where(counts, seen.dt_s, 0.0)
    left = counts.copy()
    taken: list[tuple[Claim, Flags]] = []
    for claim in sorted(
        (each for each in claims if not each.beside), key=lambda each: ORDER.index(each.kind)
    ):
        taken.append((claim, claim.holds & left))
        left &= ~claim.holds
    lost = None if _of_another(seen, claims, weights) else _lost(seen, taken, weights)
    found = [_finding(claim, own, weights, lost) for claim, own in taken]
    found.append(_finding(_unknown(seen, left), left, weights, lost))
    found = [each for each in _merged(found) if each.share >= _LEAST_SHARE]
    found.sort(key=_rank)
    drops = any(each.kind in DROP for each in found)
    full_share = sum(each.share for each in found if each.kind == "capacity")
    bound_bit_s = seen.capacity_bit_s or _bound_bit_s(taken, weights)
    carries = carries_what_it_can(seen, bound_bit_s) if own is None else all_carry(seen, bound_bit_s, weights)
    only_begins = bool(found) and found[0].kind == "slow-start" and full_share >= _AFTER_THE_START
    if (carries and full_share >= _MOSTLY_FULL and not drops) or only_begins:
        found.sort(key=lambda each: each.kind != "capacity")
    beside = [_finding(claim, claim.holds & counts, weights, lost) for claim in claims if claim.beside]
    kinds = [each.kind for each in found]
    if "capacity" not in kinds and limited_by_the_sender(seen):
        seen = replace(seen, capacity_bit_s=None, capacity_from="")
    place = kinds.index("capacity") + 1 if "capacity" in kinds else 1
    return Diagnosis(evidence, seen, (*found[:place], *beside, *found[place:]))


def _rank(of: Finding) -> tuple[float, float, float]:
    """What may cost most first."""
    costs = of.share if of.lost_share is None else of.lost_share + _EXACT * of.share
    return -costs, -of.share, -of.certainty


def _claims(seen: View) -> list[Claim]:
    """Of all families, without those that others rule out."""
    claims = [claim for family in FAMILIES.values() for claim in family(seen)]
    return without_ruled_out(seen, claims)


def _merged(found: Sequence[Finding]) -> list[Finding]:
    """Findings of one kind as one, in the words of the larger."""
    by_kind: dict[str, Finding] = {}
    for each in found:
        other = by_kind.get(each.kind)
        if other is None:
            by_kind[each.kind] = each
            continue
        larger = max(each, other, key=lambda one: one.share)
        lost = None if each.lost_share is None else round(each.lost_share + (other.lost_share or 0.0), 4)
        by_kind[each.kind] = replace(larger, share=round(each.share + other.share, 4), lost_share=lost)
    return list(by_kind.values())


def _counted(seen: View) -> Flags:
    """The samples between the first payload, or a shut window that keeps payload back, and the last."""
    sends = (seen.total_bit_s > 0) | (np.nan_to_num(seen.flight) > 0)
    with np.errstate(invalid="ignore"):
        kept_back = seen.grown("rwnd_limited_s") > 0 if seen.at_sender else seen["unread_bytes"] > 0
        sends |= (seen["rwnd_bytes"] < seen.room_bytes) & kept_back
    if not sends.any():
        return np.zeros(seen.size, bool)
    begin_s, end_s = seen.time_s[sends].min(), seen.evidence.end_s
    counts: Flags = (seen.time_s >= begin_s) & (seen.time_s <= end_s) & (seen.dt_s > 0)
    return counts


def _lost(seen: View, taken: Sequence[tuple[Claim, Flags]], weights: Floats) -> Floats | None:
    """For each sample, which share of the path's rate was not used: the rate of a queue that stood, or the
    one that bounds what arrives where a claim says that the path was full for a quarter of the time or
    more. Where something drops, that may bound it below the path's; not a short queue beside a full path."""
    rate_bit_s = seen.capacity_bit_s if seen.knows_the_paths_rate else _bound_bit_s(taken, weights)
    return None if not rate_bit_s else np.clip(1 - seen.total_bit_s / rate_bit_s, 0.0, 1.0)


def _bound_bit_s(taken: Sequence[tuple[Claim, Flags]], weights: Floats) -> float | None:
    """`taken`: each claim, and the samples that go to it."""
    for claim, own in taken:
        seldom = weights[own].sum() < _SELDOM * weights.sum()
        if claim.kind in DROP or (claim.kind == "short-queue" and not seldom):
            return None
    for claim, _own in taken:
        often = weights[claim.holds].sum() >= _OFTEN * weights.sum()
        bound_mbit_s = claim.evidence.get("rate_mbit_s")
        if claim.kind == "capacity" and claim.certainty >= _LIKELY and often and bound_mbit_s:
            return float(bound_mbit_s) * 1e6
    return None


def _of_another(seen: View, claims: Sequence[Claim], weights: Floats) -> bool:
    """Whether the rate that is seen is not the path's, as something else limits most of the time: a slow
    reader, or something that likely drops what exceeds a rate of its own. Of BBR's probes: what may do so, or
    bounds them."""
    probed = seen.capacity_from == "probing"
    own = [
        float(weights[each.holds].sum())
        for each in claims
        if each.kind == "receiver-application"
        or (each.kind == "pacing" and probed)
        or (each.kind in DROP and (probed or each.certainty > _LIKELY))
    ]
    return sum(own) > _MOST * float(weights.sum())


def _finding(claim: Claim, own: Flags, weights: Floats, lost: Floats | None) -> Finding:
    whole = float(weights.sum())
    share = float(weights[own].sum()) / whole if whole > 0 else 0.0
    cost = None if lost is None or whole <= 0 else float((weights * lost)[own].sum()) / whole
    return Finding(
        claim.kind,
        round(share, 4),
        round(min(max(claim.certainty, 0.0), 1.0), 3),
        claim.because,
        dict(claim.evidence),
        claim.formula,
        claim.otherwise,
        None if cost is None else round(cost, 4),
    )


def _unknown(seen: View, left: Flags) -> Claim:
    missing = "this end sees neither cwnd nor what is unsent" if not seen.at_sender else "no window was full"
    return Claim(
        "unknown",
        left,
        0.0,
        f"cannot tell, because {missing} and the path shows no queue and no loss then",
        {},
        "none",
        "samples of the other end, or more of them",
    )


def _incomplete(unseen_share: float) -> Finding:
    return Finding(
        "unknown",
        1.0,
        0.0,
        f"cannot tell, because {percent(unseen_share)} of the payload is missing from the capture, though it "
        "was acknowledged",
        {"unseen_share": known(unseen_share)},
        "none",
        "a capture that has the packets",
    )


def _too_little(of: Evidence, samples: int) -> Finding:
    if of.of_packets:
        more = "a longer capture"
    elif of.duration_s < _SHORTEST_S:
        more = f"a transfer that lasts {duration(_SHORTEST_S)} or more"
    else:
        more = "samples every 10 ms, or of a longer time"
    return Finding(
        "unknown",
        1.0,
        0.0,
        f"cannot tell, because it takes {_LEAST_SAMPLES} samples or more, and it has {samples}",
        {"samples": samples},
        "none",
        more,
    )
