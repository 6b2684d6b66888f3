"""The rate that a send buffer allows, from how Linux fills and empties it (tcp.c, net/core/stream.c).

Linux counts memory: each buffer (sk_buff) of a burst costs its payload and 832 bytes more. A program that
sends waits when the memory in use reaches the buffer's size, and is woken when a third of the size is
free (`sk_stream_is_writeable`). What it then writes leaves at once, as one burst, if cwnd has room.

How much it writes depends on the program, because `tcp_sendmsg` asks for memory only where it begins a
buffer:

* `long`: sendfile of a web server, or any write of megabytes. The burst that leaves takes its payload
  from the last buffer, and what stays behind of that is filled again without a question about memory. The
  program goes on until cwnd is full, far beyond the buffer's size.
* `iperf3`: the same, but it looks at the socket again after ten blocks of 128 KiB.
* `short`: a block of 64 KiB each time the socket is writable, which leaves completely (TCP_NODELAY; curl's
  upload). Each block begins a buffer, so at most two thirds of the size and a block are in use.

With B written at each wake-up and f left in flight then, a burst follows when the burst k before it is
acknowledged and the first B - r bytes of the next one are too: k = floor(f / B) + 1, r = f mod B. So k B
bytes cross in RTT + (B - r) / C.

send_memory.py has the sizes of bursts and what is left in flight.

1. Where cwnd is what ends a burst, it grows until a burst is more than the bottleneck's queue holds, and
   falls by the congestion control's factor. BBR, whose bursts are paced, is taken as if it kept the
   largest cwnd.
"""

from __future__ import annotations

import math

from bentpipe.analysis.send_memory import in_flight_at_wake
from bentpipe.calculator.question import PROGRAMS, Question

_IPERF3_TURN_BYTES = 10 * 128 * 1024
_SHORT_BLOCK_BYTES = 64 * 1024
_STEPS = 64
assert PROGRAMS == ("iperf3", "long", "short")


WRITES = {
    "iperf3": "up to cwnd, in turns of 1.25 MiB",
    "long": "up to cwnd",
    "short": "64 KiB",
}
"""What a program writes when it is woken."""


def goodput_bit_s(asked: Question) -> float:
    """Payload of one connection, where besides the buffer only the link and its queue hold it back.

    More than the link carries where the buffer holds more than the BDP even when the program is woken.
    """
    capacity = asked.capacity_bit_s / asked.streams / 8
    bdp_bytes = capacity * asked.rtt_s
    at_wake = _in_flight_at_wake(asked, bdp_bytes)
    if at_wake >= bdp_bytes:
        return 8 * at_wake / asked.rtt_s
    if asked.program == "short":
        return 8 * _rate(asked, _SHORT_BLOCK_BYTES, capacity, bdp_bytes)
    before_loss = _before_loss(asked)
    kept = {"cubic": 0.7, "reno": 0.5}.get(asked.congestion_control, 1.0)
    # A window after a loss grows as a line (Reno) or as a cube whose top is where the loss was (CUBIC).
    power = 3 if asked.congestion_control == "cubic" else 1
    rates = []
    for step in range(_STEPS):
        left = 1 - (step + 0.5) / _STEPS
        window = before_loss * (1 - (1 - kept) * left**power)
        burst = window - _in_flight_at_wake(asked, window)
        if asked.program == "iperf3":
            burst = min(burst, _IPERF3_TURN_BYTES)
        rates.append(_rate(asked, burst, capacity, window))
    mean = sum(rates) / _STEPS
    return 8 * (capacity if mean > capacity * (1 - 1e-6) else mean)


def _in_flight_at_wake(asked: Question, window_bytes: float) -> float:
    sndbuf_bytes, mss_bytes = float(asked.sndbuf_bytes), float(asked.mss_bytes)
    return float(in_flight_at_wake(sndbuf_bytes, window_bytes, asked.rtt_s, mss_bytes))


def _before_loss(asked: Question) -> float:
    """The window at which a burst overflows the queue."""
    queue_bytes = asked.queue_segments * asked.mss_bytes / asked.streams
    overflows = queue_bytes
    for _ in range(20):
        overflows = queue_bytes + _in_flight_at_wake(asked, overflows)
    return overflows


def _rate(asked: Question, burst_bytes: float, capacity: float, window_bytes: float) -> float:
    """Bytes per second."""
    at_wake = _in_flight_at_wake(asked, window_bytes)
    free_s = asked.rtt_s
    if burst_bytes <= 0 or at_wake >= window_bytes:
        return min(window_bytes / free_s, capacity)
    before = math.floor(at_wake / burst_bytes)
    rest = at_wake - before * burst_bytes
    through = (before + 1) * burst_bytes / (free_s + (burst_bytes - rest) / capacity)
    return min(through, window_bytes / free_s, capacity)
