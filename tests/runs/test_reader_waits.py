"""A receive window that stays small because its program is late to read, judged by synthetic samples."""

from typing import Any

import polars as pl
import pytest

from bentpipe import Lab
from bentpipe.lab.spec import RunSpec
from bentpipe.runs.figures.host_waits import why_not
from bentpipe.runs.figures.reader_waits import reader_waits

LARGEST_BYTES = 6_291_456
SYSCTL = {host: {"net.ipv4.tcp_rmem": f"4096\t131072\t{LARGEST_BYTES}"} for host in ("client", "server")}


def spec(direction: str = "down", **more: Any) -> RunSpec:
    work = {"name": "download", "kind": "bulk", "direction": direction, "time": "10 s"}
    return Lab(path={"rtt": "150 ms"}, workload=[work], **more).points()[0].spec


def sampled(*, out_of_order_from_s: float = 99.0, full_from_s: float = 99.0) -> pl.DataFrame:
    """Ten seconds in which the server waits for the window for half of the time."""
    rows = []
    for time_s in range(11):
        of_both = {"time_s": float(time_s), "workload": "download", "flow": 1, "role": "data"}
        sends = {"busy_s": float(time_s), "rwnd_limited_s": time_s / 2}
        reads = {
            "rcvbuf_bytes": LARGEST_BYTES if time_s >= full_from_s else 131_072,
            "rcv_ooopack": int(time_s >= out_of_order_from_s),
        }
        rows.append(of_both | sends | {"host": "server", "rcvbuf_bytes": 131_072, "rcv_ooopack": 0})
        rows.append(of_both | reads | {"host": "client", "busy_s": 0.0, "rwnd_limited_s": 0.0})
    return pl.DataFrame(rows)


def share(sockets: pl.DataFrame, **of_client: str) -> float | None:
    found = reader_waits(spec(), sockets, SYSCTL | {"client": SYSCTL["client"] | of_client})
    return found["download"]["share"] if found else None


def test_a_window_that_a_late_reader_keeps_small_counts_whole() -> None:
    assert share(sampled()) == pytest.approx(0.5)


def test_from_the_first_packet_out_of_order_on_the_window_may_wait_for_lost_ones() -> None:
    assert share(sampled(out_of_order_from_s=3)) == pytest.approx(0.1)


def test_a_receive_buffer_of_the_largest_size_is_the_labs_own_limit() -> None:
    assert share(sampled(full_from_s=1)) == 0


@pytest.mark.parametrize(
    "of_client",
    [
        {"net.ipv4.tcp_rmem": "4096\t87380\t6291456"},
        {"net.ipv4.tcp_moderate_rcvbuf": "0"},
        {"net.ipv4.tcp_window_scaling": "0"},
    ],
)
def test_a_buffer_that_begins_small_or_does_not_grow_or_is_unscaled_is_the_labs_own_limit(
    of_client: dict[str, str],
) -> None:
    assert share(sampled(), **of_client) is None


def test_of_an_upload_the_server_reads() -> None:
    other = sampled().with_columns(pl.col("host").replace({"client": "server", "server": "client"}))
    found = reader_waits(spec("up"), other, SYSCTL)
    assert found["download"] == {"program": "iperf3", "host": "server", "share": pytest.approx(0.5)}


@pytest.mark.parametrize(("sender", "expected"), [("server", 0.0), ("near", 0.5)])
def test_where_tcp_is_split_the_proxy_beside_the_reader_waits_for_it(sender: str, expected: float) -> None:
    rows = sampled().with_columns(pl.col("host").replace({"server": sender}))
    found = reader_waits(spec(split={}), rows, SYSCTL)
    assert found["download"]["share"] == pytest.approx(expected)


def test_a_run_whose_sender_waited_long_for_a_late_reader_is_unreliable_and_says_why() -> None:
    waits = {"download": {"program": "iperf3", "host": "client", "share": 0.17}}
    error = {"hosts": {}, "sampler_late_ms_max": 5.0, "reader_waits": waits}
    assert why_not(error, {"host_wait_share": 0.1}) == [
        "The sender of download waited for the receive window for 17 % of its time, because iperf3 on the "
        "client read too late; the limit is 10 %."
    ]
    assert why_not(error, {"host_wait_share": 0.2}) == []
