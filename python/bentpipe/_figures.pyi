"""The figures of a record (crates/tables/src/figures). Those that are JSON have the record's keys."""

from collections.abc import Sequence

def percentile(values: Sequence[float], percent: float) -> float | None:
    """By linear interpolation. None: too few values for one to lie beyond it."""

def flow_times(
    size_bytes: Sequence[int | None],
    start_s: Sequence[float],
    end_s: Sequence[float | None],
    small_bytes: int,
) -> str:
    """`flow_times`, `small_flows` and `fct_by_size`, as JSON. `end_s` is None for what did not finish."""

def pause_s(
    start_s: Sequence[float],
    end_s: Sequence[float | None],
    channels: int,
    begun_s: float,
    duration_s: float,
) -> float:
    """For how much of the duration one of the channels had no flow under way, on average."""

def pipe_figures(
    start_s: Sequence[float],
    throughput_bytes: Sequence[int],
    goodput_bytes: Sequence[int],
    queue_bytes_mean: Sequence[float],
    queue_bytes_max: Sequence[int],
    drops: Sequence[int],
    end_s: float,
    bin_s: float,
) -> str:
    """What a pipe did, as JSON. Columns are of its rows of `link`, in the order of time; `drops` has their
    sums by cause. Raises `ValueError` for columns of different lengths."""

def queue_behaviour(
    start_s: Sequence[float],
    throughput_bytes: Sequence[int],
    throughput_packets: Sequence[int],
    queue_bytes_mean: Sequence[float],
    queue_bytes_end: Sequence[int],
    queue_delay_s_mean: Sequence[float | None],
    dropped_packets: Sequence[int],
    under_way: Sequence[tuple[float, float]],
    seen: Sequence[tuple[float, int]],
    sample_s: float,
    end_s: float,
    question_json: str,
) -> str:
    """How a pipe's queue behaved, as JSON. Columns are of its rows of `link`, in the order of time.

    `under_way`: from when to when each flow in the pipe's direction had data to send. `seen`: when a sender
    was seen to retransmit, and which; `sample_s` lies between two samples. `question_json` is a
    `QueueQuestion` (crates/tables/src/figures/queue.rs).
    """
