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
STARVED = {"program": "iperf3", "ran_s": 0.05, "waited_s": 0.35}


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


def share(sockets: pl.DataFrame, **changes: Any) -> float | None:
    hosts = {"client": {"programs": [STARVED | changes]}}
    found = reader_waits(spec(), sockets, hosts, SYSCTL)
    return found["download"]["share"] if found else None


def test_a_window_that_a_starved_reader_keeps_small_counts_whole() -> None:
    assert share(sampled()) == pytest.approx(0.5)


def test_from_the_first_packet_out_of_order_on_the_window_may_wait_for_lost_ones() -> None:
    assert share(sampled(out_of_order_from_s=3)) == pytest.approx(0.1)


def test_a_receive_buffer_of_the_largest_size_is_the_labs_own_limit() -> None:
    assert share(sampled(full_from_s=1)) == 0


@pytest.mark.parametrize(
    "changes", [{"waited_s": 0.04}, {"waited_s": None, "ran_s": None}, {"program": "nginx"}]
)
def test_a_reader_that_had_a_processor_is_not_blamed(changes: dict[str, Any]) -> None:
    assert share(sampled(), **changes) is None


def test_of_an_upload_the_server_reads() -> None:
    hosts = {"server": {"programs": [STARVED]}}
    other = sampled().with_columns(pl.col("host").replace({"client": "server", "server": "client"}))
    found = reader_waits(spec("up"), other, hosts, SYSCTL)
    assert found["download"] == {"program": "iperf3", "host": "server", "share": pytest.approx(0.5)}


@pytest.mark.parametrize(("sender", "expected"), [("server", 0.0), ("near", 0.5)])
def test_where_tcp_is_split_the_proxy_beside_the_reader_waits_for_it(sender: str, expected: float) -> None:
    hosts = {"client": {"programs": [STARVED]}}
    rows = sampled().with_columns(pl.col("host").replace({"server": sender}))
    found = reader_waits(spec(split={}), rows, hosts, SYSCTL)
    assert found["download"]["share"] == pytest.approx(expected)


def test_a_run_whose_sender_waited_long_for_a_starved_reader_is_unreliable_and_says_why() -> None:
    waits = {"download": {"program": "iperf3", "host": "client", "share": 0.17}}
    error = {"hosts": {}, "sampler_late_ms_max": 5.0, "reader_waits": waits}
    assert why_not(error, {"host_wait_share": 0.1}) == [
        "The sender of download waited for the receive window for 17 % of its time, because iperf3 on the "
        "client had no processor to read with; the limit is 10 %."
    ]
    assert why_not(error, {"host_wait_share": 0.2}) == []
