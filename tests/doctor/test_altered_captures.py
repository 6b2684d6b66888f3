"""Captures that show packets twice, in another order, by a clock that was set, in part, or damaged."""

import random
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import bentpipe
from bentpipe.doctor.diagnosis import Diagnosis, diagnose
from bentpipe.doctor.from_capture import CaptureSeen, read
from bentpipe.engines.base import EngineOptions
from bentpipe.errors import StoreError
from bentpipe.sweep.run import execute

SERVER, CLIENT = "server", "client"
RTT_S = 0.1
SYN = 2


@dataclass(frozen=True)
class Packet:
    at_ns: int
    ip: bytes
    sender: str

    @property
    def is_syn(self) -> bool:
        return bool(self.ip[33] & SYN)


def packets_of(file: Path) -> list[Packet]:
    """Of a run's pcapng: TCP over IPv4, in enhanced packet blocks with nanoseconds. The client begins."""
    content, at, found = file.read_bytes(), 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:
            high, low, captured = struct.unpack_from("<III", content, at + 12)
            found.append((high << 32 | low, content[at + 28 : at + 28 + captured]))
        at += length
    tcp = [(at_ns, ip) for at_ns, ip in found if ip[9] == 6]
    client = tcp[0][1][12:16]
    return [Packet(at_ns, ip, CLIENT if ip[12:16] == client else SERVER) for at_ns, ip in tcp]


def pcap(packets: Iterable[Packet], snap: int) -> bytes:
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snap, 101)
    for packet in packets:
        seconds, ns = divmod(packet.at_ns, 10**9)
        kept = packet.ip[:snap]
        content += struct.pack("<IIII", seconds, ns, len(kept), len(packet.ip)) + kept
    return content


def seen(packets: Iterable[Packet], folder: Path, snap: int = 96) -> CaptureSeen:
    file = folder / "altered.pcap"
    file.write_bytes(pcap(packets, snap))
    return read(file)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Packet]:
    """A download that a receive window limits, at its sender."""
    lab = bentpipe.Lab(
        duration="5 s",
        path={"rtt": "100 ms", "rate": "20 Mbit/s"},
        client={"tcp_rmem": [4096, 131072, 131072]},
        workload=[{"name": "download", "kind": "bulk", "direction": "down"}],
    )
    out = tmp_path_factory.mktemp("run") / "out"
    execute(lab, engine="sim", out=out, options=EngineOptions(pcap=(SERVER,)))
    (file,) = out.glob("[!.]*/server.pcapng")
    return packets_of(file)


@pytest.fixture(scope="module")
def usual(whole: Sequence[Packet], tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    return told(seen(whole, tmp_path_factory.mktemp("whole")))


def told(of: CaptureSeen) -> Diagnosis:
    (transfer,) = of.transfers
    return diagnose(transfer)


def is_as(found: Diagnosis, usual: Diagnosis) -> None:
    for each in (found, usual):
        assert each.findings[0].kind == "receiver-window"
    assert found.findings[0].share == pytest.approx(usual.findings[0].share, abs=0.02)
    assert found.evidence.goodput_bit_s == pytest.approx(usual.evidence.goodput_bit_s, rel=0.01)
    assert found.evidence.samples["min_rtt_s"].min() == pytest.approx(RTT_S, rel=0.01)
    assert found.evidence.bytes == usual.evidence.bytes


def text(of: CaptureSeen) -> str:
    return " ".join(of.remarks).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("later_ns", [0, 20_000, 200_000])
def test_packets_that_are_captured_twice_count_once(
    whole: Sequence[Packet], usual: Diagnosis, later_ns: int, tmp_path: Path
) -> None:
    copies = (replace(packet, at_ns=packet.at_ns + later_ns) for packet in whole)
    found = seen(sorted([*whole, *copies], key=lambda packet: packet.at_ns), tmp_path)
    is_as(told(found), usual)
    assert "packets are in the capture twice; each was counted once" in text(found)


def test_packets_out_of_order_in_the_file_are_sorted(
    whole: Sequence[Packet], usual: Diagnosis, tmp_path: Path
) -> None:
    chance = random.Random(1)
    groups = [list(whole[start : start + 8]) for start in range(0, len(whole), 8)]
    for group in groups:
        chance.shuffle(group)
    found = seen((packet for group in groups for packet in group), tmp_path)
    is_as(told(found), usual)
    assert "packets were out of order in the file, and sorted by time." in text(found)


def test_of_a_file_whose_times_run_backwards_nothing_is_told(whole: Sequence[Packet], tmp_path: Path) -> None:
    found = seen(reversed(whole), tmp_path)
    assert not found.transfers
    assert found.remarks == ["Times run backwards through the file, so nothing can be told of its transfers."]


def test_of_a_file_whose_halves_are_swapped_nothing_is_told(whole: Sequence[Packet], tmp_path: Path) -> None:
    half = len(whole) // 2
    found = seen([*whole[half:], *whole[:half]], tmp_path)
    assert not found.transfers
    assert "of its packets are earlier than packets before them in the file" in text(found)


@pytest.mark.parametrize("snap", [40, 54])
def test_options_that_the_snap_length_cuts_off_are_unknown(
    whole: Sequence[Packet], usual: Diagnosis, snap: int, tmp_path: Path
) -> None:
    found = seen(whole, tmp_path, snap)
    is_as(told(found), usual)
    offered = told(found).evidence.receiver_offered
    assert (offered.window_scale, offered.timestamps) == (None, None)
    assert "the options of the handshake are cut off in the capture" in text(found)


@pytest.mark.parametrize("has_handshake", [True, False])
@pytest.mark.parametrize(
    ("sender", "said"),
    [(SERVER, "only its payload is in the"), (CLIENT, "only its acknowledgements are in the")],
)
def test_of_one_direction_the_missing_one_is_named(
    whole: Sequence[Packet], sender: str, said: str, has_handshake: bool, tmp_path: Path
) -> None:
    one = (packet for packet in whole if packet.sender == sender and (has_handshake or not packet.is_syn))
    found = seen(one, tmp_path)
    assert not found.transfers
    assert said in text(found)
    assert "time stamps" not in text(found)


@pytest.mark.parametrize("step_s", [3600, -3600, 9 * 365 * 86400])
def test_a_step_of_the_captures_clock_is_no_outage(
    whole: Sequence[Packet], usual: Diagnosis, step_s: int, tmp_path: Path
) -> None:
    begins_s = 10_000
    moved = [
        replace(packet, at_ns=packet.at_ns + (begins_s + (step_s if place > 900 else 0)) * 10**9)
        for place, packet in enumerate(whole)
    ]
    found = seen(moved, tmp_path)
    is_as(told(found), usual)
    assert "the capture's clock jumped by" in text(found)


def test_a_capture_without_its_whole_header_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cut.pcap"
    for length in (4, 23):
        file.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 101)[:length])
        with pytest.raises(StoreError, match="head of a capture: expected whole"):
            read(file)


def test_damaged_headers_give_no_absurd_figures(whole: Sequence[Packet], tmp_path: Path) -> None:
    chance = random.Random(2)

    def damaged(packet: Packet) -> Packet:
        ip = bytearray(packet.ip)
        for _ in range(4):
            ip[chance.randrange(min(60, len(ip)))] = chance.randrange(256)
        return replace(packet, ip=bytes(ip))

    found = seen((damaged(each) if chance.random() < 0.3 else each for each in whole), tmp_path)
    assert found.transfers
    for transfer in found.transfers:
        assert transfer.unseen_share <= 1
        assert (transfer.goodput_bit_s or 0.0) < 100e6
        assert transfer.bytes < 50e6
