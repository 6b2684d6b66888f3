"""What is said of a queue's behaviour, on series whose answer is known."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from bentpipe.runs.figures.queue_behaviour import QueueBehaviour, queue_behaviour
from bentpipe.runs.schema import TABLES

RATE_BIT_S = 8e6
BIN_BYTES = 100_000
LIMIT_BYTES = 100_000
RTT_S = 0.5


def table(name: str, rows: Sequence[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=TABLES[name].schema)


def link(waiting: Sequence[float], **columns: Sequence[float]) -> pl.DataFrame:
    """A bin of 100 ms for each value of `waiting`; the link is full unless `throughput_bytes` differs."""
    rows = [
        {
            "time_s": number / 10,
            "pipe": "down",
            "queue_bytes_mean": float(bytes_),
            "queue_bytes_end": int(bytes_),
            "throughput_bytes": BIN_BYTES,
            "throughput_packets": 67,
            "queue_delay_s_mean": bytes_ * 8 / RATE_BIT_S,
            "drops_tail": 0,
            "drops_aqm": 0,
            **{name: values[number] for name, values in columns.items()},
        }
        for number, bytes_ in enumerate(waiting)
    ]
    return table("link", rows)


def flow(start_s: float, end_s: float | None, port: int = 1, retransmits: int = 0) -> dict[str, object]:
    return {
        "direction": "down",
        "start_s": start_s,
        "end_s": end_s,
        "local_port": port,
        "remote_port": 80,
        "retransmits": retransmits,
    }


def behaviour(
    bins: pl.DataFrame,
    flows: Sequence[dict[str, object]] = (flow(0, None),),
    sockets: Sequence[dict[str, object]] = (),
) -> QueueBehaviour:
    return queue_behaviour(
        {"link": bins, "flows": table("flows", flows), "sockets": table("sockets", sockets)},
        "down",
        end_s=len(bins) / 10,
        rtt_s=RTT_S,
        limit_bytes=LIMIT_BYTES,
        rate_bit_s=RATE_BIT_S,
        mtu_bytes=1500,
    )


def test_the_share_at_the_limit_counts_instants_without_room_for_a_packet() -> None:
    assert behaviour(link([0, 98_000, 98_600, 100_000])).at_limit_share == 0.5


def test_an_empty_queue_counts_only_while_a_flow_has_data_to_send() -> None:
    found = behaviour(link([0, 0, 50_000, 50_000, 0, 0, 0, 0]), [flow(0.0, 0.6)])
    assert found.empty_share == pytest.approx(4 / 6)


def test_flows_that_follow_one_another_leave_no_idle_time_between() -> None:
    in_turn = [flow(0.0, 0.35, 1), flow(0.05, 0.15, 2), flow(0.3, 0.8, 3)]
    assert behaviour(link([0] * 4 + [1] * 4), in_turn).empty_share == 0.5


def test_lost_capacity_is_what_did_not_leave_while_there_was_data() -> None:
    carried = [BIN_BYTES, 0, BIN_BYTES, BIN_BYTES, 0, 0]
    found = behaviour(link([0] * 6, throughput_bytes=carried), [flow(0.0, 0.4)])
    assert found.lost_capacity_share == pytest.approx(0.25)


def test_delay_is_weighed_by_packets() -> None:
    found = behaviour(link([10_000] * 99 + [100_000], throughput_packets=[1] * 99 + [99]))
    assert found.delay_s_mean == pytest.approx(0.055)
    assert found.delay_s_p95 == pytest.approx(0.1)


def test_the_period_of_a_regular_oscillation_is_found() -> None:
    wave = [50_000 + 40_000 * math.sin(2 * math.pi * n / 37) for n in range(1000)]
    found = behaviour(link(wave))
    assert found.oscillation_period_s == pytest.approx(3.7)
    assert found.oscillation_strength == pytest.approx(1, abs=0.1)


def test_noise_and_a_constant_have_no_period_worth_telling() -> None:
    noise = np.random.default_rng(1).normal(50_000, 10_000, 2000)
    assert behaviour(link(noise)).oscillation_strength is None
    assert behaviour(link([5_000] * 100)).oscillation_period_s is None


def test_drops_within_a_round_trip_are_one_episode() -> None:
    drops = [0] * 40
    for bin_ in (5, 8, 12, 30):
        drops[bin_] = 3
    assert behaviour(link([0] * 40, drops_tail=drops)).loss_episodes == 2


def test_an_episode_hits_the_flows_that_retransmit_after_it() -> None:
    drops = [0] * 100
    drops[10], drops[60] = 5, 5
    samples = [
        {"time_s": t / 10, "host": "server", "local_port": 80, "remote_port": port, "retransmits": count}
        for t in range(100)
        for port, count in ((1, 2 if t >= 15 else 0), (2, 1 if t >= 16 else 0), (3, 4 if t >= 66 else 0))
    ]
    short = flow(6.1, 6.9, port=9, retransmits=1)
    found = behaviour(link([0] * 100, drops_tail=drops), [flow(0, None), short], samples)
    assert found.loss_episodes == 2
    assert found.flows_hit_mean == 2
    assert found.flows_hit_max == 2


def test_a_run_without_drops_has_no_episode() -> None:
    found = behaviour(link([0] * 10))
    assert (found.loss_episodes, found.flows_hit_mean, found.flows_hit_max) == (0, None, None)
