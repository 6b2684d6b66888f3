"""Sentences on the tunnel of a run."""

from collections.abc import Iterator, Mapping
from typing import Any

from bentpipe.words.wording import duration, percent, plural


def lines(record: Mapping[str, Any]) -> Iterator[str]:
    """For each direction that carried packets; none without a tunnel."""
    for direction, figures in (record.get("tunnel") or {}).items():
        if figures.get("packets"):
            dropped = _dropped(record, direction)
            sentences = (_sent(figures), _repaired(figures, dropped), _waste(figures), _delay(figures))
            yield f"Tunnel {direction}: {' '.join(filter(None, sentences))}"


def _sent(of: Mapping[str, Any]) -> str:
    packets = plural(of["packets"], "packet")
    repairs = of.get("repairs") or 0
    again = of.get("exact_repairs") or 0
    sent = f"{packets} crossed with {plural(repairs, 'repair') if repairs else 'no repairs'}"
    if repairs and of.get("redundancy_sent") is not None:
        sent += f" ({percent(of['redundancy_sent'])} of the packets)"
    return f"{sent}, and {plural(again, 'packet')} again on request." if again else f"{sent}."


def _dropped(record: Mapping[str, Any], direction: str) -> int:
    """Of all that the tunnel sent into the pipe: packets, repairs and reports."""
    pipe = (record.get("pipes") or {}).get(direction) or {}
    return sum(count or 0 for count in (pipe.get("drops") or {}).values())


def _repaired(of: Mapping[str, Any], dropped: int) -> str:
    recovered, again, lost = (of.get(key) or 0 for key in ("recovered", "exact_used", "lost"))
    if not recovered + again + lost:
        if not dropped:
            return "The path lost no packet."
        return (
            f"The path dropped {plural(dropped, 'packet')} of the tunnel, repairs and reports included. None "
            "was recovered, and the run ended before the tunnel knew that one was lost for good."
        )
    parts = []
    if recovered or of.get("repairs"):
        parts.append(f"Repairs recovered {plural(recovered, 'packet')}.")
    if again:
        parts.append(f"{plural(again, 'packet')} came when sent again.")
    share = of.get("residual_loss")
    of_all = f" ({percent(share)})" if lost and share is not None else ""
    parts.append(f"Lost for good: {plural(lost, 'packet') if lost else 'none'}{of_all}.")
    return " ".join(parts)


def _waste(of: Mapping[str, Any]) -> str:
    parts = []
    useless = of.get("redundancy_useless")
    if of.get("repairs") and useless is not None:
        parts.append(f"Repairs for {percent(useless)} of the packets were useless.")
    if of.get("exact_useless"):
        parts.append(f"{plural(of['exact_useless'], 'packet')} came again though known already.")
    return " ".join(parts)


def _delay(of: Mapping[str, Any]) -> str:
    mean, p95 = (of.get(f"added_delay_s_{key}") for key in ("mean", "p95"))
    if not mean or p95 is None:
        return ""
    words = f"Waiting for lost packets delayed a packet by {duration(mean)} in the mean"
    words += f", 95 % by at most {duration(p95)}"
    median = of.get("decoding_delay_s_p50")
    recovered = "" if median is None else f"; a recovered one by {duration(median)} in the median"
    return f"{words}{recovered}."
