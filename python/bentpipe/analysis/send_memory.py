"""How much payload the memory of a send buffer holds (net/core/stream.c).

Each buffer (sk_buff) of a burst takes its payload and 832 bytes more.

1. Bursts are as in a kernel whose `gso_max_size` is 64 KiB, and a path above 5 ms: a millisecond of the
   pacing rate, 1.2 cwnd / RTT, and two segments at least (`tcp_tso_autosize`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

F = TypeVar("F", float, "NDArray[np.float64]")
"""A number, or an array of them. For arrays `smaller` and `larger` are numpy's `minimum` and `maximum`.
`calc` has only numbers, and does not load numpy."""

WAKES_AT = 2 / 3
"""Share of the buffer's size in use, below which the program is woken (`sk_stream_min_wspace`)."""
_BUFFER_OVERHEAD_BYTES = 832
"""sk_buff (256) and its small head (576) on x86-64, Linux 6.18; as crates/sim's `sent_overhead`."""
_LARGEST_BURST_BYTES = 65_536
_PACED = 1.2
"""tcp_pacing_ca_ratio."""
_SEGMENT_OVERHEADS_BYTES = (576, 640)
"""MAX_TCP_HEADER, 256 or 320 by the kernel's configuration, and skb_shared_info."""
_SK_BUFF_BYTES = 256
_WINDOWS, _BBRS_WINDOWS = 2, 3
"""How many of its windows a sender's buffer holds (`sndbuf_expand` of the congestion control)."""


def payload_share(
    window_bytes: F,
    rtt_s: F,
    mss_bytes: F,
    *,
    smaller: Callable[[Any, Any], Any] = min,
    larger: Callable[[Any, Any], Any] = max,
) -> F:
    """Of memory, where cwnd is `window_bytes`: a burst's payload beside its buffer's overhead."""
    paced_bytes = _PACED * window_bytes / rtt_s / 1024
    most = larger(_LARGEST_BURST_BYTES // mss_bytes, 1)
    segments = smaller(larger(smaller(paced_bytes, _LARGEST_BURST_BYTES) // mss_bytes, 2), most)
    burst_bytes = segments * mss_bytes
    share: F = burst_bytes / (burst_bytes + _BUFFER_OVERHEAD_BYTES)
    return share


def in_flight_at_wake(
    sndbuf_bytes: F,
    window_bytes: F,
    rtt_s: F,
    mss_bytes: F,
    *,
    smaller: Callable[[Any, Any], Any] = min,
    larger: Callable[[Any, Any], Any] = max,
) -> F:
    """Payload in flight at which the program is woken to write more. Above it, the program waits."""
    return (
        WAKES_AT
        * sndbuf_bytes
        * payload_share(window_bytes, rtt_s, mss_bytes, smaller=smaller, larger=larger)
    )


def grown_for_bytes(
    sndbuf_bytes: NDArray[np.float64], mss_bytes: float, *, is_bbr: bool
) -> NDArray[np.float64]:
    """The cwnd for which Linux let a send buffer grow by itself (`tcp_sndbuf_expand`, net/ipv4/tcp_input.c);
    the larger one if the size fits two kernels. NaN: no such size, as one that a program set."""
    windows = _BBRS_WINDOWS if is_bbr else _WINDOWS
    found: NDArray[np.float64] = sndbuf_bytes * math.nan
    for overhead_bytes in reversed(_SEGMENT_OVERHEADS_BYTES):
        segment_bytes = 2.0 ** math.ceil(math.log2(mss_bytes + overhead_bytes)) + _SK_BUFF_BYTES
        segments = sndbuf_bytes / (windows * segment_bytes)
        fits = segments == segments.round()
        found[fits] = segments[fits] * mss_bytes
    return found
