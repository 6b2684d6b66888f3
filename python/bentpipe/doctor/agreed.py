"""Sentences on the TCP options that a transfer's ends did not agree on, where these did not limit it."""

from collections.abc import Iterator

from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.evidence import Offered
from bentpipe.doctor.words import LEAST_SHARE

_OPTIONS = {
    "timestamps": ("time stamps were", "them"),
    "sack": ("SACK was", "it"),
    "window_scaling": ("window scaling was", "it"),
}
"""Option, and what a sentence calls it. The findings of `tcp-options` use the same names."""


def not_agreed(of: Diagnosis) -> Iterator[str]:
    """One sentence for each option. Options that were agreed, or are unknown, give none."""
    limiting = {
        each.evidence.get("option")
        for each in of.findings
        if each.kind == "tcp-options" and each.share >= LEAST_SHARE
    }
    for option, (what, them) in _OPTIONS.items():
        lacking = _who_lacks(of, option)
        if lacking is not None and option not in limiting:
            yield f"{of.evidence.name}: {what} not agreed: {_words(of, lacking, them)}."


def _who_lacks(of: Diagnosis, option: str) -> str | None:
    """The end that did not offer it, or `both`. None: no end is known not to."""
    evidence = of.evidence
    offers = {"sender": evidence.sender_offered, "receiver": evidence.receiver_offered}
    lacking = [end for end, offered in offers.items() if _lacks(offered, option)]
    if len(lacking) == 2:
        # An answer has an option only where the opening SYN had it (RFC 7323, RFC 2018).
        return {"up": "sender", "down": "receiver"}.get(evidence.direction or "", "both")
    return lacking[0] if lacking else None


def _lacks(of: Offered, option: str) -> bool:
    if option == "window_scaling":
        return of.window_scale == -1
    return (of.timestamps if option == "timestamps" else of.sack) is False


def _words(of: Diagnosis, lacking: str, them: str) -> str:
    if lacking == "both":
        return f"neither end offered {them}, or a device on the way removed {them}"
    removed = "" if of.evidence.seen_from == lacking else f", or a device on the way removed {them}"
    return f"the {lacking} did not offer {them}{removed}"
