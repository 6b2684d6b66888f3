"""Captures that are made packet by packet."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

from bentpipe.doctor.from_capture import CaptureSeen, read

MSS = 1448
RTT_S = 0.04
WINDOW = 64000
KNOWN_S = 0.071
"""The server's time stamp of the acknowledgement that the client has then."""
FIN, SYN, ACK = 1, 2, 16
TIMERS_S = (0.55, 1.05, 2.05, 4.05)


@dataclass
class Talk:
    """A connection between a client, which sends, and a server, as a capture at `near_s` from the client has
    it. Time stamps are in milliseconds. Times are those at which the client sends or receives."""

    near_s: float = 0.0
    packets: list[tuple[float, bytes]] = field(default_factory=list)

    def up(
        self, at_s: float, seq: int, size: int = 0, *, ack: int = 1, flags: int = ACK, answers_s: float = 0.0
    ) -> None:
        self._add(at_s + self.near_s / 2, 0, (seq, ack, flags, size), (at_s, answers_s))

    def down(
        self,
        at_s: float,
        ack: int,
        *,
        flags: int = ACK,
        echoes_s: float = 0.0,
        seq: int = 1,
        window: int = WINDOW,
    ) -> None:
        """That comes at the client at `at_s`."""
        stamps = (at_s - RTT_S / 2, echoes_s)
        self._add(at_s - self.near_s / 2, 1, (seq, ack, flags, 0), stamps, window)

    def _add(
        self,
        at_s: float,
        side: int,
        of: tuple[int, int, int, int],
        stamps: tuple[float, float],
        window: int = WINDOW,
    ) -> None:
        seq, ack, flags, size = of
        ends = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
        ports = (40000, 5201)
        options = struct.pack(">BBBBII", 1, 1, 8, 10, *(10_000 + round(each * 1000) for each in stamps))
        if flags & SYN:
            options = struct.pack(">BBHBBBB", 2, 4, MSS + 12, 4, 2, 1, 1) + options
        header = struct.pack(
            ">HHIIBBHHH",
            *(ports[side], ports[1 - side], seq, ack, (20 + len(options)) // 4 << 4, flags),
            *(window, 0, 0),
        )
        length = 20 + len(header) + len(options) + size
        number = len(self.packets) + 1
        ip = struct.pack(">BBHHHBBH", 0x45, 0, length, number, 0, 64, 6, 0) + ends[side] + ends[1 - side]
        self.packets.append((at_s, ip + header + options + bytes(size)))

    def handshake(self) -> None:
        self.up(0.0, 0, flags=SYN, ack=0)
        self.down(RTT_S, 1, flags=SYN | ACK, seq=0)
        self.up(RTT_S, 1, answers_s=RTT_S / 2)

    def small(self, size: int = 37) -> int:
        """One small segment that arrives. Returns the next sequence number."""
        self.up(0.05, 1, size, answers_s=RTT_S / 2)
        self.down(0.051 + RTT_S, 1 + size, echoes_s=0.05)
        return 1 + size

    def in_vain(self, seq: int, size: int = MSS, count: int = 10) -> None:
        """A window, and what each timer repeats of it."""
        for number in range(count):
            self.up(0.1 + number / 1e5, seq + number * size, size, answers_s=KNOWN_S)
        for at_s in TIMERS_S:
            self.up(at_s, seq, size, answers_s=KNOWN_S)

    def seen(self, folder: Path) -> CaptureSeen:
        content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
        for at_s, packet in sorted(self.packets, key=lambda each: each[0]):
            seconds, ns = divmod(round(at_s * 1e9), 10**9)
            content += struct.pack("<IIII", 1000 + seconds, ns, len(packet), len(packet)) + packet
        file = folder / "made.pcap"
        file.write_bytes(content)
        return read(file)
