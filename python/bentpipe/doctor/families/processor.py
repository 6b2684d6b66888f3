"""The processor of this end: a program that cannot write, or read, any faster.

It takes the samples of `sender-application` at a sender, and of `receiver-application` at a receiver, if
one of this end's programs used a core, or waited for one, in 95 % of the time. In a run these are the end's
programs; on a host those of the command, or those that hold the sockets (processes.py). The other end's
programs are not seen from here.
"""

from collections.abc import Sequence
from dataclasses import replace

from bentpipe.doctor.claim import Claim
from bentpipe.doctor.view import View
from bentpipe.words.wording import percent

_BUSY = 0.95
_APART = 0.5
"""A program beside the one that holds the connection may limit it, as behind a pipe, or have nothing to do
with it."""


def with_processor(view: View, claims: Sequence[Claim]) -> list[Claim]:
    """The claims, those of this end's application named `cpu` where a program had no core to spare."""
    shares = view.evidence.processor_share
    if not shares:
        return list(claims)
    program = max(shares, key=lambda name: shares[name])
    share = shares[program]
    own = "sender-application" if view.at_sender else "receiver-application"
    if share < _BUSY:
        return list(claims)
    holders = view.evidence.holders
    is_apart = bool(holders) and program not in holders
    apart = ", which does not hold the connection," if is_apart else ""
    return [
        replace(
            each,
            kind="cpu",
            certainty=min(each.certainty, _APART if is_apart else 1.0),
            because=f"{program}{apart} used a processor, or waited for one, in {percent(min(share, 1.0))} "
            f"of the time: {each.because}",
            evidence={**each.evidence, "program": program, "processor_share": round(share, 4)},
            formula="time on a processor + time waiting for one >= 95 % of the transfer's",
            otherwise="a program that sleeps",
        )
        if each.kind == own
        else each
        for each in claims
    ]
