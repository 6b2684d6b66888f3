"""What the kernel counted for a connection is found for the transfers that used it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest import mock

import polars as pl
import pytest

from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.closings import Closings, Connection
from bentpipe.engines.workloads import carried
from bentpipe.engines.workloads.across_split import retransmits_on_the_path, while_measured
from bentpipe.engines.workloads.transfer import FlowOutcome, Item, Transfer
from bentpipe.lab.spec import BulkSpec

HEADER = "time_s,host,ip,local_port,remote_port,bytes_received,bytes_acked,retransmits\n"


def fetch(number: int, port: int | None, start_s: float, outcome: FlowOutcome = "finished") -> Transfer:
    return Transfer(
        item=Item(number, number, 1, 500),
        server="server",
        size_bytes=500,
        local_port=port,
        remote_port=5201,
        start_s=start_s,
        connected_s=None,
        first_byte_s=None,
        end_s=start_s + 1 if outcome == "finished" else None,
        bytes=500,
        outcome=outcome,
        why=None,
        header_bytes=50,
    )


def counted(
    folder: Path,
    lines: str,
    *transfers: Transfer,
    upload: bool = False,
    upstream: Sequence[Connection] = (),
) -> tuple[list[Transfer], int | None]:
    (folder / "closed.csv").write_text(HEADER + lines)
    closings = Closings(folder / "closed.csv")
    found = asyncio.run(
        carried.counted(transfers, closings, upload=upload, upstream=upstream, patience_s=0.0)
    )
    return found.transfers, found.retransmits


def test_a_connection_of_its_own_gives_a_fetch_its_senders_retransmissions(tmp_path: Path) -> None:
    lines = "2.0,client,4,40,5201,551,90,1\n2.1,server,4,5201,40,91,550,3\n"
    found, everything = counted(tmp_path, lines, fetch(0, 40, 1.0))
    assert (found[0].retransmits, everything) == (3, 3)
    found, everything = counted(tmp_path, lines, fetch(0, 40, 1.0), upload=True)
    assert (found[0].retransmits, everything) == (1, 1)


def test_fetches_over_one_connection_have_only_a_sum(tmp_path: Path) -> None:
    lines = "9.0,client,4,40,5201,1101,90,0\n9.1,server,4,5201,40,91,1100,3\n"
    found, everything = counted(tmp_path, lines, fetch(0, 40, 1.0), fetch(1, 40, 2.0))
    assert [each.retransmits for each in found] == [None, None]
    assert everything == 3


def test_a_port_that_came_round_is_another_connection(tmp_path: Path) -> None:
    lines = "2.0,server,4,5201,40,91,550,3\n7.0,server,4,5201,40,91,550,4\n"
    found, everything = counted(tmp_path, lines, fetch(0, 40, 1.0), fetch(1, 40, 6.0))
    assert [each.retransmits for each in found] == [3, 4]
    assert everything == 7


def test_what_came_of_a_cut_fetch_is_what_its_connection_carried_beyond_the_rest(tmp_path: Path) -> None:
    lines = "9.0,client,4,40,5201,800,90,0\n9.1,server,4,5201,40,91,800,0\n"
    found, _ = counted(tmp_path, lines, fetch(0, 40, 1.0), fetch(1, 40, 2.0, "unfinished"))
    assert [each.bytes for each in found] == [500, 800 - 550 - 50]


def test_what_is_not_known_of_one_connection_is_not_known_of_all(tmp_path: Path) -> None:
    lines = "2.0,server,4,5201,40,91,550,3\n7.0,server,4,52"
    found, everything = counted(tmp_path, lines, fetch(0, 40, 1.0), fetch(1, 41, 6.0), fetch(2, None, 7.0))
    assert [each.retransmits for each in found] == [3, None, None]
    assert everything is None


def test_a_cut_fetch_that_no_log_names_has_the_connection_that_nobody_else_has(tmp_path: Path) -> None:
    lines = "2.0,client,4,40,5201,551,90,0\n9.0,client,4,42,5201,310,90,0\n"
    cut = replace(fetch(1, None, 3.0, "unfinished"), header_bytes=0, bytes=0)
    found, _ = counted(tmp_path, lines, fetch(0, 40, 1.0), cut)
    assert [(each.local_port, each.bytes) for each in found] == [(40, 500), (42, 310)]


def test_what_was_sent_again_to_a_cache_is_in_the_sum_and_in_no_fetch_that_missed(tmp_path: Path) -> None:
    lines = (
        "2.0,server,4,5202,40,91,550,1\n3.0,server,4,5202,41,91,550,2\n"
        "9.0,near,4,60,5201,550,90,0\n9.1,server,4,5201,60,90,550,7\n"
    )
    miss = replace(fetch(0, 40, 1.0), cache="miss", remote_port=5202)
    hit = replace(fetch(1, 41, 2.5), cache="hit", remote_port=5202)
    found, everything = counted(
        tmp_path, lines, miss, hit, upstream=[Connection("near", 60, "server", 5201, 1.1)]
    )
    assert [each.retransmits for each in found] == [None, 2]
    assert everything == 1 + 2 + 7


def test_what_comes_while_someone_waits_is_read_and_a_half_written_line_when_it_is_whole(
    tmp_path: Path,
) -> None:
    (file := tmp_path / "closed.csv").write_text(HEADER + "2.0,client,4,40,5201,551,90,1\n2.1,server,4,52")
    closings = Closings(file)
    connection = Connection("client", 40, "server", 5201, 1.0)

    async def both_ends() -> None:
        waiting = asyncio.create_task(closings.wait([connection], 10.0))
        await asyncio.sleep(0)
        assert closings.client_end(connection)
        assert closings.server_end(connection) is None
        with file.open("a") as more:
            more.write("01,40,91,550,3\n")
        await waiting

    asyncio.run(both_ends())
    assert (end := closings.server_end(connection))
    assert end.retransmits == 3


def across(folder: Path, *flows: dict[str, object]) -> WorkloadResult:
    """With the proxies' ends of the downward connection from port 40, and of an upward one from port 41."""
    ends = ["near,4,40,5201,0,0,1", "near,4,5201,40,0,0,2", "far,4,5201,40,0,0,30", "far,4,40,5201,0,0,4"]
    ends += ["near,4,41,5202,0,0,500", "near,4,5202,41,0,0,6", "far,4,5202,41,0,0,7", "far,4,41,5202,0,0,8"]
    hosts = [
        "client,4,40,5201,0,0,0",
        "server,4,5201,40,0,0,9",
        "client,4,41,5202,0,0,9",
        "server,4,5202,41,0,0,0",
    ]
    (folder / "closed.csv").write_text(HEADER + "".join(f"2.0,{end}\n" for end in [*ends, *hosts]))
    bench = mock.Mock(closings=Closings(folder / "closed.csv", is_split=True), full_round_trip_s=0.0)
    result = WorkloadResult({"retransmits": 9}, flows=[*flows])
    return asyncio.run(retransmits_on_the_path(result, bench))


def flow(
    port: int, direction: str = "down", client: str = "client", outcome: str = "finished"
) -> dict[str, object]:
    server = "server" if client == "client" else "client"
    return {
        "client": client,
        "server": server,
        "direction": direction,
        "local_port": port,
        "remote_port": 5161 + port,
        "start_s": 1.0,
        "outcome": outcome,
    }


def test_with_a_split_retransmissions_are_those_of_the_proxy_beside_the_sender(tmp_path: Path) -> None:
    found = across(tmp_path, flow(40), flow(41, "up"))
    assert [each["retransmits"] for each in found.flows] == [30, 500]
    assert found.entry["retransmits"] == 530


def test_with_a_split_a_connection_that_a_program_at_the_server_opened_is_known_by_its_ports(
    tmp_path: Path,
) -> None:
    from_server = flow(5201, "down", client="server") | {"remote_port": 40}
    found = across(tmp_path, from_server)
    assert found.entry["retransmits"] == 30


@pytest.mark.parametrize(("outcome", "total"), [("unfinished", 30), ("finished", None)])
def test_with_a_split_a_connection_left_open_at_the_end_is_not_in_the_sum(
    tmp_path: Path, outcome: str, total: int | None
) -> None:
    found = across(tmp_path, flow(40), flow(42, outcome=outcome))
    assert [each["retransmits"] for each in found.flows] == [30, None]
    assert found.entry["retransmits"] == total


@pytest.mark.parametrize(("omit_s", "count"), [(0, 50), (2, 70 - 30)])
def test_with_a_split_a_transfer_by_time_has_what_was_sent_again_in_that_time(
    omit_s: int, count: int
) -> None:
    """Its clocks begin at 1.5 s with a round trip of 100 ms, and it is measured for 4 s after `omit`."""
    rows = [("far", 5201, 40, float(at_s), at_s * 10) for at_s in range(1, 10)]
    others = [("far", 5201, 40, 0.5, 999), ("far", 40, 5201, 3.0, 999), ("near", 5201, 40, 3.0, 999)]
    columns = ["host", "local_port", "remote_port", "time_s", "retransmits"]
    sampled = pl.DataFrame([*others, *rows], schema=columns, orient="row")
    work = BulkSpec.model_construct(time_ns=4 * 10**9, size_bytes=None, omit_ns=omit_s * 10**9)
    # Of the second no sample is known.
    flows = [flow(40) | {"retransmits": 95}, flow(41, "up") | {"retransmits": 7}]
    result = WorkloadResult({"retransmits": 102, "duration_s": 4.0}, flows=flows)
    found = while_measured(result, work, sampled, 0.1)
    assert [each["retransmits"] for each in found.flows] == [count, 7]
    assert found.entry["retransmits"] == count + 7
    by_size = work.model_copy(update={"size_bytes": 1000, "time_ns": None})
    assert while_measured(result, by_size, sampled, 0.1).entry["retransmits"] == 102
