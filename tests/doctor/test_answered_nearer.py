"""A middlebox that answers handshakes: a capture at the sender shows it, and no other path looks so."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_altered_captures import CLIENT, SERVER, Packet, packets_of, seen

import bentpipe
from bentpipe._core import read_capture
from bentpipe.doctor.answered_nearer import rtt_behind_s
from bentpipe.doctor.diagnosis import Diagnosis, diagnose, diagnose_all
from bentpipe.doctor.from_capture import CaptureSeen, read
from bentpipe.engines.base import EngineOptions
from bentpipe.sweep.run import execute

DOWN: Mapping[str, Any] = {"name": "download", "kind": "bulk", "direction": "down"}


def captured(out: Path, path: Mapping[str, Any], end: str = SERVER, **more: Any) -> Path:
    lab = bentpipe.Lab(**{"duration": "5 s", "path": path, "workload": [DOWN], **more})
    execute(lab, engine="sim", out=out, options=EngineOptions(pcap=(end,)))
    (file,) = out.glob(f"[!.]*/{end}.pcapng")
    return file


def connections(packets: Sequence[Packet]) -> list[list[Packet]]:
    found: dict[bytes, list[Packet]] = {}
    for each in packets:
        port = each.ip[20:22] if each.sender == CLIENT else each.ip[22:24]
        found.setdefault(port, []).append(each)
    return list(found.values())


def nearer(packets: Sequence[Packet], times: float) -> list[Packet]:
    """The same, where SYN-ACKs are answered in a `times`-th of the time. SYN and SYN-ACK are later, and
    nothing else moves."""
    found = []
    for own in connections(packets):
        syn, answer, confirmed = own[:3]
        assert (syn.sender, answer.sender, confirmed.sender) == (CLIENT, SERVER, CLIENT)
        took_ns = confirmed.at_ns - answer.at_ns
        later_ns = took_ns - round(took_ns / times)
        found += [replace(each, at_ns=each.at_ns + later_ns) for each in (syn, answer)]
        found += own[2:]
    return sorted(found, key=lambda each: each.at_ns)


def told(of: CaptureSeen) -> Diagnosis:
    (transfer,) = of.transfers
    return diagnose(transfer)


def kinds(of: Diagnosis) -> list[str]:
    return [each.kind for each in of.findings]


PATHS = {
    "window": ({"rtt": "100 ms", "rate": "20 Mbit/s"}, {"client": {"tcp_rmem": [4096, 131072, 131072]}}),
    "bufferbloat": ({"rtt": "50 ms", "rate": "20 Mbit/s", "queue": "1 MB"}, {}),
}


@pytest.mark.parametrize("limit", PATHS)
def test_a_handshake_that_is_answered_nearer_than_data_shows_a_split(limit: str, tmp_path: Path) -> None:
    path, more = PATHS[limit]
    whole = packets_of(captured(tmp_path / "out", path, **more))
    usual = told(seen(whole, tmp_path))
    found = told(seen(nearer(whole, 10), tmp_path))
    rtt_s = float(path["rtt"].split()[0]) / 1000
    assert "split" not in kinds(usual)
    assert sorted(kinds(found)) == sorted([*kinds(usual), "split"])
    (split,) = (each for each in found.findings if each.kind == "split")
    assert split.evidence["handshake_rtt_s"] == pytest.approx(rtt_s / 10, rel=0.1)
    assert split.evidence["data_rtt_s"] == pytest.approx(rtt_s, rel=0.1)
    assert found.findings[0].kind == usual.findings[0].kind
    assert found.findings[0].share == pytest.approx(usual.findings[0].share, abs=0.03)
    # The path's base round trip is that of data.
    assert found.evidence.samples["min_rtt_s"].min() == pytest.approx(rtt_s, rel=0.1)


def test_a_handshake_that_is_not_clearly_sooner_is_of_the_same_path(tmp_path: Path) -> None:
    whole = packets_of(captured(tmp_path / "out", {"rtt": "100 ms", "rate": "20 Mbit/s"}))
    found = told(seen(nearer(whole, 1.6), tmp_path))
    assert "split" not in kinds(found)
    assert found.evidence.samples["min_rtt_s"].min() == pytest.approx(0.1 / 1.6, rel=0.02)


def begun_later(packets: Sequence[Packet], by_ns: int) -> list[Packet]:
    """The same, where nothing is sent for so long after a handshake."""
    found = []
    for own in connections(packets):
        found += [*own[:3], *(replace(each, at_ns=each.at_ns + by_ns) for each in own[3:])]
    return sorted(found, key=lambda each: each.at_ns)


def test_data_that_begin_long_after_a_handshake_do_not_show_a_split(tmp_path: Path) -> None:
    """Others may have filled a queue meanwhile."""
    whole = nearer(packets_of(captured(tmp_path / "out", {"rtt": "100 ms", "rate": "20 Mbit/s"})), 10)
    assert "split" in kinds(told(seen(whole, tmp_path)))
    assert "split" not in kinds(told(seen(begun_later(whole, 10**9), tmp_path)))


def test_another_transfer_that_came_back_as_soon_as_the_handshake_shows_that_a_queue_stood(
    tmp_path: Path,
) -> None:
    whole = nearer(packets_of(captured(tmp_path / "out", {"rtt": "100 ms", "rate": "20 Mbit/s"})), 10)
    seen(whole, tmp_path)
    flows = json.loads(read_capture(tmp_path / "altered.pcap").facts())["flows"]
    flow = max(flows, key=lambda each: each["delivered_bytes"])
    other = {**flow, "far_rtt_of_data_s": flow["handshake_rtt_s"]}
    assert rtt_behind_s(flow, [flow]) == pytest.approx(0.1, rel=0.02)
    assert rtt_behind_s(flow, [flow, other]) is None
    assert rtt_behind_s(flow, [flow, {**other, "receiver": "192.0.2.9"}]) is not None


FULL = {"rtt": "20 ms", "rate": "10 Mbit/s", "queue": "1 MB"}
LABS: Mapping[str, Mapping[str, Any]] = {
    "bufferbloat": {"path": FULL},
    "bufferbloat of BBR": {"path": FULL, "server": {"congestion_control": "bbr"}},
    "many at once": {"path": FULL, "workload": [{**DOWN, "streams": 16}]},
    "begun in a full queue": {
        "path": FULL,
        "workload": [DOWN, {**DOWN, "name": "second", "start": "2 s"}],
    },
    "both ways": {
        "path": FULL,
        "workload": [DOWN, {**DOWN, "name": "up", "direction": "up", "start": "0.05 s"}],
    },
    "slow": {
        "path": {"rtt": "10 ms", "rate": "200 kbit/s", "queue": "100 kB"},
        "workload": [{"name": "file", "kind": "http", "size": "100 kB"}],
    },
    "several at once": {
        "path": FULL,
        "workload": [{"name": "file", "kind": "http", "size": "4 MB", "connections": 12}],
    },
    "short queue": {"path": {"rtt": "200 ms", "rate": "20 Mbit/s", "queue": "20 kB"}},
    "loss": {"path": {"rtt": "100 ms", "rate": "20 Mbit/s", "loss": 0.02}},
    "jitter": {"path": {"rtt": "30 ms", "rate": "20 Mbit/s", "jitter": "20 ms"}},
    "requests": {
        "path": {"rtt": "100 ms", "rate": "20 Mbit/s"},
        "workload": [
            {
                "name": "files",
                "kind": "http",
                "size": "60 kB",
                "fetches": 20,
                "keep_alive": True,
                "think": "300 ms",
            }
        ],
    },
}


@pytest.mark.parametrize("name", LABS)
@pytest.mark.parametrize("end", [SERVER, CLIENT])
def test_a_path_without_a_middlebox_shows_no_split(name: str, end: str, tmp_path: Path) -> None:
    found = diagnose_all(read(captured(tmp_path / "out", end=end, **LABS[name])).transfers)
    assert found
    assert not [each.evidence.name for each in found if "split" in kinds(each)]
