"""Sentences on the gateways of a run."""

from collections.abc import Iterator, Mapping
from typing import Any

from bentpipe.runs.asked import capacity_bit_s
from bentpipe.words.wording import percent, plural, rate

_SENDS = (("down", "far", "near", "rate_down_bit_s"), ("up", "near", "far", "rate_up_bit_s"))


def lines(record: Mapping[str, Any]) -> Iterator[str]:
    """For each direction that carried packets; none without gateways."""
    found = record.get("gateway") or {}
    asked = (record.get("spec") or {}).get("gateway") or {}
    for direction, sender, receiver, key in _SENDS:
        sent, came = found.get(sender) or {}, found.get(receiver) or {}
        if not sent.get("packets"):
            continue
        at = f" at {rate(asked[key])} at most" if asked.get(key) else ""
        repairs, again = sent.get("repairs") or 0, sent.get("exact_repairs") or 0
        words = [
            f"Gateway {direction}: {sender} sent {plural(sent['packets'], 'packet')}{at}, "
            f"{plural(repairs, 'repair') if repairs else 'no repairs'}, "
            f"and {plural(again, 'packet') if again else 'none'} again."
        ]
        recovered, asked_for = came.get("came_by_repair") or 0, came.get("came_when_asked") or 0
        if recovered + asked_for:
            words.append(f"Of lost packets {recovered} came by repairs, {asked_for} when sent again.")
        if sent.get("datagrams_sent"):
            dropped, given = sent.get("datagrams_dropped"), came.get("datagrams_delivered")
            words.append(
                f"Of {plural(sent['datagrams_sent'], 'UDP datagram')} it dropped {dropped or 'none'}; "
                f"{given or 'none'} came."
            )
        if too_fast := _too_fast(record, direction, asked.get(key)):
            words.append(too_fast)
        if loss := sent.get("channel_loss"):
            words.append(f"It takes the path to lose {percent(loss)}.")
        yield " ".join(words)


def _too_fast(record: Mapping[str, Any], direction: str, asked_bit_s: int | None) -> str:
    """Of a rate above that of the path, if the queue has dropped packets; otherwise empty."""
    if ((record.get("spec") or {}).get("gateway") or {}).get(f"law_{direction}") != "fixed":
        return ""
    capacity = capacity_bit_s(record, direction)
    drops = (record.get("pipes", {}).get(direction) or {}).get("drops") or {}
    if not (asked_bit_s and capacity and asked_bit_s > capacity and drops.get("tail")):
        return ""
    return (
        f"{rate(asked_bit_s)} is above the path's {rate(capacity)}: what is too much fills the queue and is "
        "dropped; set a lower rate."
    )
