"""Sentences for the user about a capture: what is missing in it, what was left out, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.words.wording import duration, percent, rate, size

LEAST_BYTES = 20_000
"""A flow with less payload fits into two initial windows, so nothing can have limited it for long."""
_MOST_LATE = 0.01
_MOST_UNSEEN = 0.9
_AT_ONE_POINT_S = 0.001
"""A mirror port or a bridge shows a packet's copy sooner than this."""
_YEAR_S = 365.25 * 86400


def of_file(facts: Mapping[str, Any], cut_off: str | None) -> list[str]:
    """`facts` are those of `CaptureReading`."""
    packets = facts["packets"]
    found = []
    if cut_off is not None:
        found.append(f"What stands before the end was used. {cut_off}.")
    if facts["missed_packets"]:
        found.append(f"The capturing program missed {facts['missed_packets']} packets, as it says itself.")
    if packets["unknown_link"]:
        found.append(
            f"{_packets(packets['unknown_link'], 'has', 'have')} link type {facts['unknown_link']}, which "
            "is not read here; expected Ethernet, raw IP, Linux cooked or loopback."
        )
    if facts["untimed_packets"]:
        found.append(
            f"{_packets(facts['untimed_packets'], 'has', 'have')} no time (simple packet blocks): left out."
        )
    if packets["damaged"]:
        found.append(
            f"{_packets(packets['damaged'], 'has', 'have')} a damaged IP header (its checksum is wrong): "
            "left out."
        )
    if packets["fragments"]:
        found.append(f"{_packets(packets['fragments'], 'is an IP fragment', 'are IP fragments')}: left out.")
    if packets["too_big"]:
        found.append(f"{packets['too_big']} ICMP messages say that a packet was too big for a link.")
    if facts["given_up_connections"]:
        found.append(
            f"{facts['given_up_connections']} small connections with {size(facts['given_up_bytes'])} were "
            "given up, because there is room for 8192 connections."
        )
    if facts["times_run_backwards"]:
        found.append("Times run backwards through the file, so nothing can be told of its transfers.")
    elif packets["out_of_order"]:
        found.append(
            f"{_packets(packets['out_of_order'], 'was', 'were')} out of order in the file, and sorted by "
            "time."
        )
    if not packets["tcp"]:
        found.append(f"None of its {packets['packets']} packets is TCP.")
    return found


def of_small_flows(count: int, shown: int) -> list[str]:
    """Flows that are not among those that are shown or spoken of."""
    flows = "1 more flow" if count == 1 else f"{count} more flows"
    if not count:
        return []
    if not shown:
        return [
            f"{flows.replace(' more', '')} carried less than {size(LEAST_BYTES)}, which tells too little."
        ]
    return [f"{flows} carried less than {size(LEAST_BYTES)}."]


def of_large_flows(count: int) -> list[str]:
    """Beyond those that there is room for."""
    if not count:
        return []
    return [
        f"{'1 more flow' if count == 1 else f'{count} more flows'} carried {size(LEAST_BYTES)} or more, too."
    ]


def of_flow(flow: Mapping[str, Any]) -> list[str]:
    """Of one that is shown."""
    found = []
    if flow["vantage"] is None:
        found.append(
            "the capture does not tell the round-trip time on both of its sides, as time stamps or the "
            "handshake would, so where it was captured is a guess from the acknowledgements' delay."
        )
    found += _of_window(flow)
    if flow["unseen_bytes"]:
        found.append(f"{size(flow['unseen_bytes'])} were acknowledged and are not in the capture.")
    if flow["out_of_place"]:
        found.append(
            f"{_packets(flow['out_of_place'], 'has', 'have')} sequence numbers far from the others, as in a "
            "damaged header: left out."
        )
    if flow["captured_twice"]:
        found.append(_of_copies(flow["captured_twice"], flow["copies_later_s"]))
    if flow["clock_steps"]:
        found.append(_of_clock_steps(flow["clock_steps"], abs(flow["largest_clock_step_s"])))
    if flow["events_left_out"]:
        found.append(f"{flow['events_left_out']} events are counted and not listed.")
    return found


def untold(flow: Mapping[str, Any]) -> str | None:
    """Why nothing can be told of what limited this flow. None: something can."""
    packets = flow["segments"] + flow["acks"]
    if not flow["acks"] and flow["segments"]:
        lasted_s = flow["last_data_s"] - (flow["first_data_s"] or 0.0)
        again = (
            f", {size(flow['retransmitted_bytes'])} of it sent again" if flow["retransmitted_bytes"] else ""
        )
        return (
            f"only its payload is in the capture, {_amount(flow['sent_bytes'], lasted_s)}{again}, and no "
            "acknowledgement. What limited it cannot be told without the other direction."
        )
    if not flow["segments"]:
        amount = _amount(flow["delivered_bytes"], flow["end_s"] - flow["start_s"])
        return (
            f"only its acknowledgements are in the capture, for {amount}, and none of its payload. What "
            "limited it cannot be told without the other direction."
        )
    if flow["unseen_bytes"] > _MOST_UNSEEN * flow["delivered_bytes"]:
        share = percent(min(flow["unseen_bytes"] / flow["delivered_bytes"], 1.0))
        return (
            f"{share} of its payload is missing from the capture, though it was acknowledged. What limited "
            "it cannot be told."
        )
    if flow["late_packets"] > _MOST_LATE * packets:
        return (
            f"{percent(min(flow['late_packets'] / packets, 1.0))} of its packets are earlier than packets "
            "before them in the file, so what limited it cannot be told. Sort the file by time, as "
            "`reordercap` does."
        )
    return None


def _packets(count: int, is_: str, are: str) -> str:
    return f"1 packet {is_}" if count == 1 else f"{count} packets {are}"


def _amount(carried: int, lasted_s: float) -> str:
    if lasted_s <= 0:
        return size(carried)
    return f"{size(carried)} in {duration(lasted_s)} ({rate(carried * 8 / lasted_s)})"


def _of_window(flow: Mapping[str, Any]) -> Sequence[str]:
    if flow["is_window_shift_known"]:
        return []
    offers = (flow["sender_offered"], flow["receiver_offered"])
    if any(offer is not None and offer["is_cut_off"] for offer in offers):
        missing = "the options of the handshake are cut off in the capture"
    else:
        missing = "the handshake is not in the capture"
    if flow["window_shift"] is None:
        return [
            f"{missing}, so the scale of the receive window is unknown. The window was never seen to be "
            "full, so no scale can be estimated."
        ]
    return [
        f"{missing}; the receive window's scale is estimated as {flow['window_shift']}, because the data in "
        "flight filled a window of that scale again and again."
    ]


def _of_copies(copies: int, later_s: float) -> str:
    if later_s < _AT_ONE_POINT_S:
        return f"{_packets(copies, 'is', 'are')} in the capture twice; each was counted once."
    return (
        f"{_packets(copies, 'is', 'are')} in the capture twice, {duration(later_s)} apart, as where captures "
        "of both ends were merged; the first of each was counted. A capture of one end tells more."
    )


def _of_clock_steps(steps: int, largest_s: float) -> str:
    how_far = "more than a year" if largest_s > _YEAR_S else duration(largest_s)
    jumped = f"jumped by {how_far}" if steps == 1 else f"jumped {steps} times, by up to {how_far}"
    return (
        f"the capture's clock {jumped}, and the time stamps of the ends did not: the clock was set, or the "
        "host slept. The jump is left out."
    )
