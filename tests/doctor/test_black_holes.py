"""Connections that stand still: a black hole for large packets, an outage, and what is merely small."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from made_packets import ACK, FIN, KNOWN_S, MSS, RTT_S, SYN, TIMERS_S, Talk

import bentpipe
from bentpipe._core import SocketWatch
from bentpipe.doctor import from_run
from bentpipe.doctor.claim import Finding
from bentpipe.doctor.diagnosis import diagnose
from bentpipe.doctor.from_capture import CaptureSeen
from bentpipe.doctor.from_host import HostSeen, seen
from bentpipe.doctor.host_facts import HostFacts
from bentpipe.doctor.processes import Used
from bentpipe.doctor.words import transfer_lines

SMALLER = 1024
LASTS_S = 6.0


def only_finding(of: CaptureSeen | HostSeen) -> Finding:
    (transfer,) = of.transfers
    return diagnose(transfer).findings[0]


@pytest.mark.parametrize(("near_s", "end"), [(0.0, "sender"), (RTT_S / 2, "between"), (RTT_S, "receiver")])
def test_full_segments_that_a_capture_has_and_nobody_acknowledges_are_a_black_hole(
    near_s: float, end: str, tmp_path: Path
) -> None:
    talk = Talk(near_s)
    talk.handshake()
    seq = talk.small()
    talk.in_vain(seq)
    talk.down(LASTS_S, seq, flags=FIN | ACK, echoes_s=0.05)
    found = talk.seen(tmp_path)
    assert [each.seen_from for each in found.transfers] == [end]
    assert found.transfers[0].bytes == 37
    first = only_finding(found)
    # What came after the last timer says nothing of the path before it.
    assert (first.kind, first.certainty, first.evidence["timeouts"]) == ("mtu", 0.5, len(TIMERS_S))
    assert first.share > 0.95


def test_an_acknowledgement_between_two_timers_makes_it_sure(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake()
    seq = talk.small()
    talk.in_vain(seq)
    talk.down(3.0, seq, flags=FIN | ACK, echoes_s=0.05)
    first = only_finding(talk.seen(tmp_path))
    assert (first.kind, first.certainty) == ("mtu", 1.0)


def test_a_small_segment_that_is_repeated_in_vain_is_an_outage(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake()
    talk.up(0.05, 1, 37, answers_s=RTT_S / 2)
    for number in range(9):
        talk.up(0.051 + number / 1e5, 38 + number * MSS, MSS, answers_s=RTT_S / 2)
    for at_s in TIMERS_S:
        talk.up(at_s, 1, 37, answers_s=RTT_S / 2)
    talk.down(LASTS_S, 1, echoes_s=0.0)
    first = only_finding(talk.seen(tmp_path))
    assert first.kind == "outage"


def test_smaller_segments_that_arrive_after_full_ones_did_not_are_a_black_hole(tmp_path: Path) -> None:
    talk = Talk()
    talk.handshake()
    seq = talk.small()
    talk.in_vain(seq)
    at_s = 5.0
    talk.up(at_s, seq, SMALLER, answers_s=KNOWN_S)
    for _ in range(60):
        seq += SMALLER
        talk.down(at_s + RTT_S, seq, echoes_s=at_s)
        at_s += RTT_S
        talk.up(at_s, seq, SMALLER, answers_s=at_s - RTT_S / 2)
    transfer = talk.seen(tmp_path).transfers[0]
    kinds = {each.kind: each for each in diagnose(transfer).findings}
    assert "outage" not in kinds
    assert kinds["mtu"].certainty == 1.0
    assert kinds["mtu"].evidence["mss_before_bytes"] == MSS
    assert kinds["mtu"].evidence["mss_after_bytes"] == SMALLER
    # The time in which nothing arrived counts: its user waited.
    assert transfer.duration_s == pytest.approx(at_s, abs=0.3)


def test_what_is_merely_small_or_was_never_established_is_no_transfer(tmp_path: Path) -> None:
    small = Talk()
    small.handshake()
    small.small()
    assert not small.seen(tmp_path).transfers
    # Small segments in an outage, as of a connection that only gives orders.
    small.up(1.0, 38, 100, answers_s=KNOWN_S)
    for at_s in TIMERS_S:
        small.up(1.0 + at_s, 38, 100, answers_s=KNOWN_S)
    assert not small.seen(tmp_path).transfers
    # Without the handshake the size of a full segment is not known.
    del small.packets[:3]
    for number in range(3):
        small.up(1.001, 138 + 100 * number, 100, answers_s=KNOWN_S)
    assert not small.seen(tmp_path).transfers
    refused = Talk()
    for at_s in (0.0, 1.0, 3.0, 7.0):
        refused.up(at_s, 0, flags=SYN, ack=0)
    assert not refused.seen(tmp_path).transfers


TIME_S = np.array([0.0, 0.05, 0.1, *TIMERS_S, LASTS_S])
TIMERS = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 4.0])
STUCK: Mapping[str, Any] = {
    "bytes_acked": [0, 38] + [38] * 6,
    "bytes_sent": 37 + 10 * MSS * (TIME_S > 0.05) + TIMERS * MSS,
    "bytes_retrans": TIMERS * MSS,
    "retransmits": TIMERS,
    "unacked_segments": 10.0 * (TIME_S > 0.05),
    "total_rto": TIMERS,
    "backoff": TIMERS,
    "delivered": 2,
    "mss_bytes": MSS,
    "snd_wnd_bytes": 64000,
    "cwnd_segments": 1,
    "segments_in": 2,
    "srtt_s": RTT_S,
    "min_rtt_s": RTT_S,
}
ZERO = (
    *("bytes_received", "segments_out", "busy_s", "rwnd_limited_s", "sndbuf_limited_s", "rcv_ooopack"),
    *("drops", "lost_segments", "reordering", "wmem_queued_bytes", "notsent_bytes", "app_limited"),
)
UNKNOWN = ("ssthresh_segments", "rcv_wnd_bytes", "rcvbuf_bytes", "rmem_alloc_bytes", "rcv_rtt_s")


@dataclass(frozen=True)
class Watch:
    """A `SocketWatch` that saw one connection of a client with these columns."""

    columns: Mapping[str, Any]
    was_before: bool = False

    def report(self) -> str:
        return json.dumps({"interval_s": 0.01, "missed": 0, "looks": 600, "spared": 0, "first_error": None})

    def connections(self) -> str:
        acked = np.broadcast_to(np.asarray(self.columns["bytes_acked"], dtype=float), TIME_S.shape)
        facts = {
            **{"local": "10.0.0.1", "remote": "10.0.0.2", "local_port": 40000, "remote_port": 5201},
            **{"congestion_control": "cubic", "was_before": self.was_before, "closed": False},
            "sent_bytes": int(acked[-1] - (acked[0] if self.was_before else 0)),
            "received_bytes": 0,
            "timeouts": int(np.broadcast_to(np.asarray(self.columns["total_rto"]), TIME_S.shape)[-1]),
            **dict.fromkeys(("timestamps", "sack", "window_scaling"), True),
            **{"window_shut": False, "ecn": False},
        }
        return json.dumps([facts])

    def samples(self, _place: int) -> dict[str, Any]:
        columns = {**dict.fromkeys(ZERO, 0), **dict.fromkeys(UNKNOWN, np.nan), **self.columns}
        columns["time_s"] = TIME_S
        found: dict[str, Any] = {
            name: np.broadcast_to(np.asarray(of, dtype=float), TIME_S.shape).tobytes()
            for name, of in columns.items()
        }
        return {**found, "ca_state": ["loss" if each else "open" for each in TIMERS]}


def at_host(changes: Mapping[str, Any], *, was_before: bool = False) -> HostSeen:
    watch = Watch({**STUCK, **changes}, was_before)
    return seen(cast("SocketWatch", watch), HostFacts(), used_by=lambda *_: Used({}, frozenset()))


def test_a_hosts_connection_that_delivered_nothing_and_stands_still_is_a_transfer() -> None:
    found = at_host({"bytes_acked": 1, "bytes_sent": 10 * MSS + TIMERS * MSS, "unacked_segments": 10})
    diagnosis = diagnose(found.transfers[0])
    first = diagnosis.findings[0]
    assert (first.kind, first.certainty) == ("mtu", 0.5)
    # The kernel counts the SYN.
    assert (diagnosis.evidence.bytes, diagnosis.evidence.end_s) == (0, LASTS_S)
    line = next(iter(transfer_lines([diagnosis], [[]], [None])))
    said = line.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert said == "to 10.0.0.2:5201 (up, seen from the sender): 0 bit/s for 6 s"


def test_a_hosts_first_small_segments_are_no_full_ones() -> None:
    assert only_finding(at_host({})).kind == "mtu"


def test_an_acknowledgement_between_two_timers_makes_a_host_sure() -> None:
    assert only_finding(at_host({"segments_in": [1, 2, 2, 2, 2, 3, 3, 3]})).certainty == 1.0


def test_one_that_hung_before_the_watch_began_is_told_by_its_counters() -> None:
    hangs = {"total_rto": 5, "backoff": 5, "unacked_segments": 10, "bytes_retrans": 5 * MSS}
    little = {"bytes_acked": 38, "bytes_sent": 37 + 15 * MSS}
    assert only_finding(at_host({**hangs, **little}, was_before=True)).kind == "mtu"
    # One that had delivered much before has carried full segments.
    much = {"bytes_acked": 5e6, "bytes_sent": 5e6 + 15 * MSS}
    found = only_finding(at_host({**hangs, **much}, was_before=True))
    assert found.kind != "mtu"


@pytest.mark.parametrize(
    "changes",
    [
        {"total_rto": np.minimum(TIMERS, 1)},
        {"bytes_sent": 37 + 400.0 * (TIME_S > 0.05), "bytes_retrans": 0, "unacked_segments": 4},
        {"unacked_segments": 0, "total_rto": 0},
    ],
    ids=["one timeout", "small segments", "nothing outstanding"],
)
def test_a_small_connection_of_a_host_is_no_transfer(changes: Mapping[str, Any]) -> None:
    assert not at_host(changes).transfers


def test_a_small_segment_that_a_host_repeats_in_vain_is_no_black_hole() -> None:
    assert only_finding(at_host({"bytes_retrans": TIMERS * 37})).kind == "outage"


def test_pings_tell_an_outage_from_a_black_hole() -> None:
    evidence = at_host({}).transfers[0]

    def kind(between: float | None) -> str:
        pings = pl.DataFrame({"time_s": [0.05, 1.0, 2.0, 3.0], "rtt_s": [RTT_S, *[between] * 3]})
        return diagnose(replace(evidence, pings=pings)).findings[0].kind

    assert kind(RTT_S) == "mtu"
    assert kind(None) == "outage"


def test_a_starved_connection_beside_others_that_deliver_is_no_black_hole() -> None:
    work = {"name": "download", "kind": "bulk", "direction": "down", "streams": 128}
    lab = bentpipe.Lab(duration="30 s", path={"rtt": "100 ms", "rate": "20 Mbit/s"}, workload=[work])
    run = bentpipe.simulate(lab)
    tables = {name: run.table(name) for name in ("sockets", "flows", "pings")}
    (found,) = (diagnose(each) for each in from_run.transfers(run.record, tables, "sender"))
    assert found.findings[0].kind == "capacity"
    assert "mtu" not in {each.kind for each in found.findings}
