"""Causes that `sim` has not: black holes for large packets, and processors without time to spare."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl
import pytest

from bentpipe.doctor.diagnosis import Diagnosis, diagnose
from bentpipe.doctor.evidence import PINGS, Evidence, SeenFrom, samples

MSS = 1448


def seen(
    columns: Mapping[str, Any],
    *,
    pings: Sequence[float] = (),
    seen_from: SeenFrom = "sender",
    processor_share: Mapping[str, float] | None = None,
    holders: Collection[str] = (),
) -> Diagnosis:
    frame = samples(pl.DataFrame({"connection": 0, "rwnd_bytes": 1_000_000, **columns}))
    return diagnose(
        Evidence(
            name="upload",
            direction="up",
            seen_from=seen_from,
            start_s=0.0,
            end_s=float(frame["time_s"][-1]),
            bytes=int(frame["delivered_bytes"][-1]),
            mss_bytes=MSS,
            samples=frame,
            pings=pl.DataFrame({"time_s": list(pings), "rtt_s": [0.05] * len(pings)}, schema=PINGS),
            processor_share=processor_share or {},
            holders=frozenset(holders),
        )
    )


TIME_S = [0.1 * number for number in range(100)]
TIMEOUTS = [min(int(each / 1.2), 4) for each in TIME_S]
STUCK: Mapping[str, Any] = {
    "time_s": TIME_S,
    "outstanding_bytes": 10 * MSS,
    "in_flight_bytes": MSS,
    "cwnd_bytes": MSS,
    "ssthresh_bytes": 5.0 * MSS,
    "delivered_bytes": 0,
    "arrived_bytes": 0,
    "sent_bytes": [(10 + each) * MSS for each in TIMEOUTS],
    "retransmits": TIMEOUTS,
    "timeouts": TIMEOUTS,
    "acks": 1,
    "recovery": "loss",
    "srtt_s": 0.05,
    "min_rtt_s": 0.05,
    "mss_bytes": MSS,
}


def test_large_packets_that_never_arrive_while_pings_do_are_a_black_hole() -> None:
    first = seen(STUCK, pings=(2.0, 3.0, 4.0)).findings[0]
    assert first.kind == "mtu"
    assert first.certainty == 1.0
    assert first.evidence["pings_answered"] == 3


def test_without_anything_small_it_is_half_as_sure() -> None:
    first = seen(STUCK).findings[0]
    assert first.kind == "mtu"
    assert first.certainty == 0.5


def test_smaller_segments_that_arrive_after_timeouts_show_a_black_hole() -> None:
    arrived = [0 if each < 6 else int((each - 6) * 1e5) for each in TIME_S]
    columns = {
        **STUCK,
        "mss_bytes": [MSS if each < 5.5 else 1000 for each in TIME_S],
        "delivered_bytes": arrived,
        "arrived_bytes": arrived,
        "recovery": ["loss" if each < 6 else "open" for each in TIME_S],
    }
    kinds = {each.kind: each for each in seen(columns).findings}
    assert kinds["mtu"].certainty == 1.0
    assert kinds["mtu"].evidence["mss_after_bytes"] == 1000


def test_smaller_segments_that_arrive_within_the_same_sample_show_one_too() -> None:
    # At a short round trip much arrives between two samples.
    arrived = [0 if each < 5.45 else int((each - 5.3) * 1e5) for each in TIME_S]
    columns = {
        **STUCK,
        "mss_bytes": [MSS if each < 5.45 else 1000 for each in TIME_S],
        "delivered_bytes": arrived,
        "arrived_bytes": arrived,
        "recovery": ["loss" if each < 6 else "open" for each in TIME_S],
    }
    kinds = {each.kind for each in seen(columns).findings}
    assert "mtu" in kinds
    assert "outage" not in kinds


def test_full_segments_that_arrived_out_of_order_are_no_black_hole() -> None:
    arrived = [0 if each < 0.3 else 5 * MSS for each in TIME_S]
    assert "mtu" not in {each.kind for each in seen({**STUCK, "arrived_bytes": arrived}).findings}


def test_a_silence_after_full_segments_arrived_is_no_black_hole() -> None:
    arrived = [min(int(each * 1e6), 1_000_000) for each in TIME_S]
    found = seen({**STUCK, "delivered_bytes": arrived, "arrived_bytes": arrived}, pings=(2.0,))
    assert "mtu" not in {each.kind for each in found.findings}


PAUSING: Mapping[str, Any] = {
    **STUCK,
    "outstanding_bytes": MSS,
    "in_flight_bytes": MSS,
    "cwnd_bytes": 100 * MSS,
    "delivered_bytes": [int(each * 1e5) for each in TIME_S],
    "arrived_bytes": [int(each * 1e5) for each in TIME_S],
    "retransmits": 0,
    "timeouts": 0,
    "recovery": "open",
    "notsent_bytes": 0,
    "app_limited": True,
    "sndbuf_bytes": 4_000_000,
    "sndbuf_used_bytes": 3000,
}


@pytest.mark.parametrize(("share", "kind"), [(0.99, "cpu"), (0.5, "sender-application")])
def test_an_application_without_a_processor_to_spare_is_named_so(share: float, kind: str) -> None:
    assert seen(PAUSING, processor_share={"upload": share}).findings[0].kind == kind


@pytest.mark.parametrize(("holders", "most"), [({"curl"}, 0.5), ({"gzip"}, 1.0), (set(), 1.0)])
def test_a_busy_program_that_does_not_hold_the_connection_is_less_sure(
    holders: set[str], most: float
) -> None:
    shares = {"gzip": 0.99, "curl": 0.02}
    first = seen(PAUSING, processor_share=shares, holders=holders).findings[0]
    alone = seen(PAUSING, processor_share=shares).findings[0]
    assert first.kind == "cpu"
    assert first.certainty == min(alone.certainty, most)
    assert ("does not hold the connection" in first.because) == (most < 1)
