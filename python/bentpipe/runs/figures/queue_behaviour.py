"""How the queue of a pipe behaved over a run, in a few figures, from the run's tables.

docs/queue-behaviour.md defines them for readers, crates/tables/src/figures/queue.rs computes them. For a
simulated run they are computed while it goes on (crates/sim/src/record/figures.rs); here they are of tables.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe import _core
from bentpipe.runs.asked import capacity_bit_s, queue_limit_bytes
from bentpipe.runs.path_ends import of_the_path
from bentpipe.runs.record import QueueFigures
from bentpipe.words.direction import Direction


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


def queues_of_run(folder: Path, record: Mapping[str, Any], end_s: float) -> dict[str, QueueFigures]:
    """What the record holds under `queue`: of each pipe that has a rate, and so a queue that can fill.

    `folder` has the run's tables, of which only the columns that are wanted are read. A run that failed
    before it had them says nothing of its queues.
    """
    questions = {pipe: asked for pipe, asked in queue_questions(record["spec"]).items() if asked}
    if not questions or not all((folder / f"{name}.parquet").exists() for name in _COLUMNS):
        return {}
    tables = {
        name: pl.read_parquet(folder / f"{name}.parquet", columns=columns and list(columns), glob=False)
        for name, columns in _COLUMNS.items()
    }
    tables["sockets"] = of_the_path(tables["sockets"], record)
    found: Any = {
        pipe: asdict(queue_behaviour(tables, pipe, end_s=end_s, **asked)) for pipe, asked in questions.items()
    }
    figures: dict[str, QueueFigures] = found
    return figures


def queue_questions(spec: Mapping[str, Any]) -> dict[str, dict[str, Any] | None]:
    """What the figures take of a run's `spec`, for each pipe; None: without a rate its queue cannot fill."""
    path = spec["path"]
    return {
        pipe: {
            "rtt_s": path["base_rtt_ns"] / 1e9,
            "limit_bytes": queue_limit_bytes({"spec": spec}, pipe),
            "rate_bit_s": capacity_bit_s({"spec": spec}, pipe),
            "mtu_bytes": path["mtu"],
        }
        if path[pipe]["shaper"]["kind"] != "unlimited"
        else None
        for pipe in ("down", "up")
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
    link = tables["link"].lazy().filter(pl.col("pipe") == pipe).sort("time_s").collect()
    flows = tables["flows"].filter(pl.col("direction") == pipe)
    under_way = flows.select(
        pl.coalesce("connected_s", "start_s").alias("from"), pl.col("end_s").fill_null(math.inf).alias("to")
    )
    seen, sample_s = _retransmitting(tables, pipe)
    asked = {
        "rtt_s": rtt_s,
        "limit_bytes": limit_bytes,
        "rate_bit_s": rate_bit_s,
        "mtu_bytes": mtu_bytes,
    }
    dropped = link["drops_tail"] + link["drops_aqm"]
    found = _core.queue_behaviour(
        link["time_s"].to_list(),
        link["throughput_bytes"].to_list(),
        link["throughput_packets"].to_list(),
        link["queue_bytes_mean"].to_list(),
        link["queue_bytes_end"].to_list(),
        link["queue_delay_s_mean"].to_list(),
        dropped.to_list(),
        under_way.rows(),
        seen.rows(),
        sample_s,
        end_s,
        json.dumps(asked),
    )
    return QueueBehaviour(**json.loads(found))


def _retransmitting(tables: Mapping[str, pl.DataFrame], pipe: str) -> tuple[pl.DataFrame, float]:
    """When which flow was seen to retransmit (time_s, flow), and how far apart samples are."""
    sender = Direction(pipe).sender
    key = ("local_port", "remote_port")
    # Samples stand in the order in which they were taken.
    sampled = tables["sockets"].filter(pl.col("host") == sender)
    apart_s = sampled.select(pl.col("time_s").unique().sort().diff().median()).item()
    sample_s = 0.0 if apart_s is None else float(apart_s)
    grew = pl.col("retransmits").diff().over(key).fill_null(pl.col("retransmits"))
    name = _name(*key)
    of_sockets = sampled.filter(grew > 0).select("time_s", name)
    # A flow's own ports are those of the client; its sender's are the other way round for what comes down.
    ports = key[::-1] if pipe == "down" else key
    flow = _name(*ports)
    of_flows = (
        tables["flows"]
        .filter((pl.col("direction") == pipe) & (pl.col("retransmits") > 0) & pl.col("end_s").is_not_null())
        .select(pl.col("end_s").alias("time_s"), flow)
    )
    unseen = of_flows.join(of_sockets.select("flow").unique(), on="flow", how="anti")
    return pl.concat([of_sockets, unseen]).sort("time_s"), sample_s


def _name(*ports: str) -> pl.Expr:
    """What tells a flow from others."""
    sender, receiver = (pl.col(port) for port in ports)
    return (sender * 65_536 + receiver).alias("flow")
