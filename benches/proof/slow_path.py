"""A long path between two network namespaces: delay, random loss, and a length above which packets vanish.

It has one TUN device in each namespace, both named `wan`: some kernels have no netem. Lines on
standard input change it: `longest 1300` drops longer packets without a word, as a path-MTU black hole does.
It prints `ready` when both devices are there.
"""

import argparse
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time
from pathlib import Path

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
LONGEST = 65536
QUEUED = 20_000


def tun(pid: int) -> int:
    """The device's descriptor. It is in the network namespace of this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if libc.setns(space, 0):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(space)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"wan", IFF_TUN | IFF_NO_PI))
    return device


def carry(ends: tuple[int, int], delay_s: float, loss: float, seed: int) -> None:
    drawn = random.Random(seed)
    other = dict(zip(ends, reversed(ends), strict=True))
    waiting: list[tuple[float, int, int, bytes]] = []
    longest = LONGEST
    count = 0
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, out, packet = heapq.heappop(waiting)
            # A device that takes nothing now loses the packet, as a full queue does.
            try:
                os.write(out, packet)
            except OSError:
                continue
        timeout = max(0.0, waiting[0][0] - now) if waiting else None
        readable, _, _ = select.select([*ends, sys.stdin], [], [], timeout)
        for end in readable:
            if end is sys.stdin:
                words = sys.stdin.readline().split()
                if not words:
                    return
                longest = int(words[1])
                continue
            for _ in range(64):
                try:
                    packet = os.read(end, LONGEST)
                except BlockingIOError:
                    break
                if len(packet) > longest or drawn.random() < loss or len(waiting) > QUEUED:
                    continue
                count += 1
                heapq.heappush(waiting, (time.monotonic() + delay_s, count, other[end], packet))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ends", type=int, nargs=2, help="processes in the namespaces of both ends")
    parser.add_argument("--delay", type=float, help="seconds, one way")
    parser.add_argument("--loss", type=float)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if not Path("/dev/net/tun").exists():
        sys.exit("slow_path: there is no /dev/net/tun")
    near, far = (tun(pid) for pid in arguments.ends)
    print("ready", flush=True)
    carry((near, far), arguments.delay, arguments.loss, arguments.seed)


if __name__ == "__main__":
    main()
