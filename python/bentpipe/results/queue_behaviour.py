"""How the queue of a pipe behaved over a run, in a few figures.

docs/queue-behaviour.md defines them for readers. All are of one run's tables, from time 0 to the run's end,
and of one pipe. Instants are the ends of the table's bins: evenly spaced, so the share of instants is the
share of time.

1. At the limit: a full packet more would not have fitted. Needs a limit in bytes or BDP.
2. Empty: nothing waited, while some flow had data to send: from its connection to its last byte. The link may
   be sending its last packet at such an instant, so what is lost by it is said apart, by the bytes that left.
3. Delay: of the packets that left, by the means of their bins; a quantile is over packets.
4. Oscillation: the autocorrelation r of the bins' mean occupancy. Its period is the lag of the highest local
   maximum of r behind r's first zero and up to a quarter of the run; its strength is r there. White noise of
   n bins has a highest r of about sqrt(2 ln(lags) / n): below that there is no oscillation.
5. Loss episode: drops of the queue (tail and AQM) with less than one base RTT between bins that have any. A
   flow is hit by the episode after whose beginning its sender is first seen to retransmit, within two RTTs
   and a sample of its end. A flow that lives between two samples counts by its row in `flows`.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bentpipe.results.asked import capacity_bit_s, queue_limit_bytes

_MOST_LAG_SHARE = 0.25


@dataclass(frozen=True)
class QueueBehaviour:
    """None where the run cannot tell."""

    at_limit_share: float | None
    empty_share: float | None
    """Of the time in which some flow had data to send."""
    lost_capacity_share: float | None
    """Of what the rate would have carried in that time."""
    delay_s_mean: float | None
    delay_s_p95: float | None
    oscillation_period_s: float | None
    oscillation_strength: float | None
    loss_episodes: int
    flows_hit_mean: float | None
    """By an episode; None without one."""
    flows_hit_max: int | None


_COLUMNS = {
    "link": None,
    "flows": (
        "direction",
        "start_s",
        "connected_s",
        "end_s",
        "local_port",
        "remote_port",
        "retransmits",
    ),
    "sockets": ("time_s", "host", "local_port", "remote_port", "retransmits"),
}


def queues_of_run(folder: Path, record: Mapping[str, Any], end_s: float) -> dict[str, dict[str, Any]]:
    """What the record holds under `queue`: of each pipe that has a rate, and so a queue that can fill.

    `folder` has the run's tables, of which only the columns that are wanted are read. A run that failed
    before it had them says nothing of its queues.
    """
    path = record["spec"]["path"]
    pipes = [pipe for pipe in ("down", "up") if path[pipe]["shaper"]["kind"] != "unlimited"]
    if not pipes or not all((folder / f"{name}.parquet").exists() for name in _COLUMNS):
        return {}
    tables = {
        name: pl.read_parquet(folder / f"{name}.parquet", columns=columns and list(columns), glob=False)
        for name, columns in _COLUMNS.items()
    }
    return {
        pipe: asdict(
            queue_behaviour(
                tables,
                pipe,
                end_s=end_s,
                rtt_s=path["base_rtt_ns"] / 1e9,
                limit_bytes=queue_limit_bytes(record, pipe),
                rate_bit_s=capacity_bit_s(record, pipe),
                mtu_bytes=path["mtu"],
            )
        )
        for pipe in pipes
    }


def queue_behaviour(
    tables: Mapping[str, pl.DataFrame],
    pipe: str,
    *,
    end_s: float,
    rtt_s: float,
    limit_bytes: float | None,
    rate_bit_s: float | None,
    mtu_bytes: int,
) -> QueueBehaviour:
    """`tables`: link, flows and sockets of one run.

    `limit_bytes` and `rate_bit_s` are the pipe's, None where it has none or one that changes.
    """
    of_pipe = (pl.col("pipe") == pipe) & (pl.col("time_s") >= 0)
    link = tables["link"].lazy().filter(of_pipe).sort("time_s").collect()
    starts_s = link["time_s"].to_numpy()
    bin_s = float(np.median(np.diff(starts_s))) if len(starts_s) > 1 else 0.1
    inside = int((starts_s < end_s - bin_s / 2).sum())  # the first ones: they are sorted
    link, starts_s = link[:inside], starts_s[:inside]
    busy = _busy(tables["flows"], pipe, starts_s, bin_s)
    waiting = link["queue_bytes_end"].to_numpy()
    period_s, strength = _oscillation(link["queue_bytes_mean"].to_numpy(), bin_s)
    hit = _flows_hit(tables, pipe, link, starts_s, bin_s=bin_s, rtt_s=rtt_s)
    delay_mean_s, delay_p95_s = _delays(link)
    return QueueBehaviour(
        at_limit_share=_share(waiting > limit_bytes - mtu_bytes) if limit_bytes is not None else None,
        empty_share=_share(waiting[busy] == 0),
        lost_capacity_share=_lost(link["throughput_bytes"].to_numpy()[busy], rate_bit_s, bin_s),
        delay_s_mean=delay_mean_s,
        delay_s_p95=delay_p95_s,
        oscillation_period_s=period_s,
        oscillation_strength=strength,
        loss_episodes=len(hit),
        flows_hit_mean=sum(hit) / len(hit) if hit else None,
        flows_hit_max=max(hit) if hit else None,
    )


def _share(of: Any) -> float | None:
    return float(of.mean()) if len(of) else None


def _lost(carried_bytes: Any, rate_bit_s: float | None, bin_s: float) -> float | None:
    if rate_bit_s is None or not len(carried_bytes):
        return None
    return max(0.0, 1 - float(carried_bytes.sum()) * 8 / (rate_bit_s * bin_s * len(carried_bytes)))


def _busy(flows: pl.DataFrame, pipe: str, starts_s: Any, bin_s: float) -> Any:
    """Of each bin, whether some flow in the pipe's direction had data to send through the whole of it."""
    from_to = (
        pl.coalesce("connected_s", "start_s").alias("from"),
        pl.col("end_s").fill_null(math.inf).alias("to"),
    )
    of_pipe = flows.lazy().filter(pl.col("direction") == pipe)
    own = of_pipe.select(from_to).sort("from").with_columns(pl.col("to").cum_max()).collect()
    if own.is_empty():
        return np.zeros(len(starts_s), dtype=bool)
    last = np.searchsorted(own["from"].to_numpy(), starts_s, side="right") - 1
    # Up to a bin's start the latest end of all flows begun by then: what ends later is under way.
    return (last >= 0) & (own["to"].to_numpy()[np.maximum(last, 0)] >= starts_s + bin_s)


def _delays(link: pl.DataFrame) -> tuple[float | None, float | None]:
    """Mean and 95th percentile over the packets that left the queue."""
    known = pl.col("queue_delay_s_mean").is_not_null()
    left = link.lazy().filter(known).sort("queue_delay_s_mean").collect()
    delays_s, packets = left["queue_delay_s_mean"].to_numpy(), left["throughput_packets"].to_numpy()
    if not packets.sum():
        return None, None
    below = np.cumsum(packets)
    p95 = delays_s[np.searchsorted(below, 0.95 * below[-1])]
    return float(np.average(delays_s, weights=packets)), float(p95)


def _oscillation(occupancy_bytes: Any, bin_s: float) -> tuple[float | None, float | None]:
    """Period in seconds and strength (0 to 1); None, None where none stands out."""
    count = len(occupancy_bytes)
    centred = occupancy_bytes - occupancy_bytes.mean() if count else occupancy_bytes
    variance = float((centred * centred).sum())
    most_lag = int(count * _MOST_LAG_SHARE)
    if most_lag < 3 or variance == 0:
        return None, None
    # By the spectrum of the series padded with zeros: the sums of products at every lag.
    spectrum = np.fft.rfft(centred, 2 * count)
    r = np.fft.irfft(spectrum * np.conj(spectrum))[: most_lag + 2] / variance
    below_zero = np.nonzero(r <= 0)[0]
    if not len(below_zero):
        return None, None
    lags = np.arange(max(int(below_zero[0]), 1), most_lag + 1)
    peaks = lags[(r[lags] > r[lags - 1]) & (r[lags] >= r[lags + 1])]
    if not len(peaks):
        return None, None
    best = int(peaks[np.argmax(r[peaks])])
    strength = float(r[best])
    by_chance = math.sqrt(2 * math.log(most_lag) / count)
    return (best * bin_s, strength) if strength > by_chance else (None, None)


def _flows_hit(
    tables: Mapping[str, pl.DataFrame],
    pipe: str,
    link: pl.DataFrame,
    starts_s: Any,
    *,
    bin_s: float,
    rtt_s: float,
) -> list[int]:
    """Of each loss episode, how many flows it hit."""
    dropped = (link["drops_tail"] + link["drops_aqm"]).to_numpy() > 0
    at_s = starts_s[dropped]
    if not len(at_s):
        return []
    begins = np.concatenate(([True], np.diff(at_s) > rtt_s + bin_s / 2))
    first_s = at_s[begins]
    last_s = at_s[np.concatenate((begins[1:], [True]))]
    seen, sample_s = _retransmitting(tables, pipe)
    seen_s = seen["time_s"].to_numpy()
    episode = np.searchsorted(first_s, seen_s, side="right") - 1
    in_reach = (episode >= 0) & (seen_s <= last_s[np.maximum(episode, 0)] + bin_s + 2 * rtt_s + sample_s)
    hits = pl.DataFrame({"episode": episode[in_reach], "flow": seen["flow"].to_numpy()[in_reach]}).unique()
    counted = np.bincount(hits["episode"].to_numpy().astype(np.int64), minlength=len(first_s))
    return [int(count) for count in counted]


def _retransmitting(tables: Mapping[str, pl.DataFrame], pipe: str) -> tuple[pl.DataFrame, float]:
    """When which flow was seen to retransmit (time_s, flow), and how far apart samples are."""
    sender = "server" if pipe == "down" else "client"
    key = ("local_port", "remote_port")
    # Samples stand in the order in which they were taken.
    sampled = tables["sockets"].filter(pl.col("host") == sender)
    times_s = np.sort(sampled["time_s"].unique().to_numpy())
    sample_s = float(np.median(np.diff(times_s))) if len(times_s) > 1 else 0.0
    grew = pl.col("retransmits").diff().over(key).fill_null(pl.col("retransmits"))
    name = pl.format("{}-{}", *key).alias("flow")
    of_sockets = sampled.filter(grew > 0).select("time_s", name)
    # A flow's own ports are those of the client; its sender's are the other way round for what comes down.
    ports = key[::-1] if pipe == "down" else key
    flow = pl.format("{}-{}", *ports).alias("flow")
    of_flows = (
        tables["flows"]
        .filter((pl.col("direction") == pipe) & (pl.col("retransmits") > 0) & pl.col("end_s").is_not_null())
        .select(pl.col("end_s").alias("time_s"), flow)
    )
    unseen = of_flows.join(of_sockets.select("flow").unique(), on="flow", how="anti")
    return pl.concat([of_sockets, unseen]).sort("time_s"), sample_s
