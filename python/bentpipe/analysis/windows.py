"""Which window is full, by a sender's samples: for numbers, numpy's arrays and polars' expressions."""

from typing import Any

FULL = 0.9
"""Share of a window at which it counts as full."""
CONGESTION_WINDOW = "congestion window"
RECEIVE_WINDOW = "receive window"
SEND_BUFFER = "send buffer"


def full_windows(in_flight: Any, cwnd: Any, receive_window: Any, woken_at: Any) -> dict[str, Any]:
    """By each window's name, whether it is full. All arguments are bytes of payload.

    A send buffer counts as full while the program waits to write: `woken_at` is what is in flight when it may
    (analysis/send_memory.py).
    """
    return {
        CONGESTION_WINDOW: in_flight >= FULL * cwnd,
        RECEIVE_WINDOW: in_flight >= FULL * receive_window,
        SEND_BUFFER: in_flight >= woken_at,
    }
