"""Whose a sampled socket is: by ports, by time on a shared connection, by server beyond the far end."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bentpipe import Lab
from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.socket_owners import SOCKETS_CSV, with_owners
from bentpipe.lab.spec import RunSpec
from bentpipe.runs.schema import FLOWS, SOCKETS

PLAIN = '[path]\nrtt = "20 ms"\n[[workload]]\nname = "load"\nkind = "bulk"\nsize = "1 MB"\n'
EXEC = '[[workload]]\nname = "mine"\nkind = "exec"\ncommand = ["true"]\n'


def spec(tmp_path: Path, lab: str) -> RunSpec:
    (tmp_path / "lab.toml").write_text(lab)
    return Lab.load(tmp_path / "lab.toml").points()[0].spec


def sample(time_s: float, host: str, local: int, remote: int, **more: Any) -> dict[str, Any]:
    return {"time_s": time_s, "host": host, "ip": 4, "local_port": local, "remote_port": remote} | more


def flow(number: int, start_s: float, port: int, *, server_port: int = 5201, **more: Any) -> dict[str, Any]:
    known = {"flow": number, "workload": "load", "client": "client", "server": "server", "ip": 4}
    return known | {"local_port": port, "remote_port": server_port, "start_s": start_s} | more


def owners(
    a_spec: RunSpec,
    samples: list[dict[str, Any]],
    flows: list[dict[str, Any]],
    **ports: dict[int, str | None],
) -> list[tuple[str | None, int | None, str | None]]:
    results = {name: WorkloadResult({}, ports=each) for name, each in ports.items()}
    sampled = pl.DataFrame(
        {column: [row.get(column) for row in samples] for column in SOCKETS_CSV}, schema=SOCKETS_CSV
    )
    of_flows = pl.DataFrame(
        {column: [row.get(column) for row in flows] for column in FLOWS.names}, schema=FLOWS.schema
    )
    frame = with_owners(sampled.lazy(), of_flows, results, a_spec).collect(engine="streaming")
    assert frame.schema == SOCKETS.schema
    return frame.select("workload", "flow", "role").rows()


def test_both_ends_of_a_stream_are_the_flows_and_the_connection_beside_it_is_iperf3s_own(
    tmp_path: Path,
) -> None:
    samples = [sample(1, "client", 40002, 5201), sample(1, "server", 5201, 40002)]
    samples += [sample(1, "client", 40000, 5201), sample(1, "server", 5201, 40000)]
    found = owners(spec(tmp_path, PLAIN), samples, [flow(1, 0.5, 40002)], load={5201: "control"})
    assert found == [("load", 1, "data")] * 2 + [("load", None, "control")] * 2


def test_a_connection_that_is_used_again_is_the_flows_that_was_begun_last(tmp_path: Path) -> None:
    samples = [sample(at, "client", 40002, 80) for at in (0.9, 1.0, 1.5, 2.0, 2.5)]
    flows = [flow(1, 1.0, 40002, server_port=80), flow(2, 2.0, 40002, server_port=80)]
    found = owners(spec(tmp_path, PLAIN), samples, flows, load={80: "data"})
    assert [number for _, number, _ in found] == [1, 1, 1, 2, 2]


def test_what_iperf3_did_not_name_is_its_workloads_and_of_no_known_role(tmp_path: Path) -> None:
    found = owners(spec(tmp_path, PLAIN), [sample(1, "server", 5201, 40000)], [], load={5201: None})
    assert found == [("load", None, None)]


def test_one_port_towards_two_servers_beyond_the_far_end_is_two_flows(tmp_path: Path) -> None:
    channels = '[[workload]]\nname = "NAME"\nkind = "channels"\nchannels = 1\nservers = 2\nsize = "4 kB"\n'
    lab = 'duration = "1 s"\n[path]\nrtt = "20 ms"\n'
    lab += channels.replace("NAME", "island") + channels.replace("NAME", "mainland")
    samples = [
        sample(1, host, *ports, server=server)
        for server in (1, 3, 0)
        for host, ports in (("client", (40000, 5001)), ("server", (5001, 40000)))
    ]
    flows = [
        flow(number, 0.5, 40000, server_port=5001, workload=name, client="client-1", server="server-2")
        for number, name in enumerate(("island", "mainland"), 1)
    ]
    found = owners(spec(tmp_path, lab), samples, flows)
    assert found == (
        [("island", 1, "data")] * 2 + [("mainland", 2, "data")] * 2 + [("island", None, "data")] * 2
    )


def test_near_and_far_of_a_split_have_two_sockets_each_of_every_flow(tmp_path: Path) -> None:
    hosts = [("client", 40002, 5201), ("near", 5201, 40002), ("near", 40002, 5201)]
    hosts += [("far", 5201, 40002), ("far", 40002, 5201), ("server", 5201, 40002)]
    samples = [sample(1, *socket) for socket in hosts]
    whole = owners(spec(tmp_path, PLAIN + "[split]\n"), samples, [flow(1, 0.5, 40002)])
    assert whole == [("load", 1, "data")] * 6


@pytest.mark.parametrize(("commands", "whose"), [(0, None), (1, "mine"), (2, None)])
def test_what_nobody_else_owns_is_the_only_commands(tmp_path: Path, commands: int, whose: str | None) -> None:
    lab = PLAIN + (EXEC + EXEC.replace("mine", "other"))[: len(EXEC) if commands == 1 else commands * 1000]
    found = owners(spec(tmp_path, lab), [sample(1, "client", 50000, 7000)], [], load={5201: "control"})
    assert found == [(whose, None, None)]
