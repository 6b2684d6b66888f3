"""Whose each sampled socket of a live run is: its workload, its flow, and what it is for.

The sampler knows hosts and ports, the workloads know the ports of their flows.
1. A socket is a flow's if the flow has its host and ports, and its server beyond the far end where it has
   one. On a connection that is used again it is the flow that was begun last. A sample may be a little older
   than the time at which its flow was begun, as the tools tell it: then it is the next flow's.
2. Each workload has listening ports of its own. A connection to one of them without a flow belongs to the
   workload, and is what the workload says of such connections.
3. What nobody else owns is the `exec` workload's, if there is one. Of several it is not known whose.
"""

from collections.abc import Mapping
from itertools import accumulate

import polars as pl

from bentpipe.engines.base import WorkloadResult
from bentpipe.lab.spec import RunSpec
from bentpipe.runs.schema import SOCKETS

_ADDED = ("workload", "flow", "role")
SOCKETS_CSV = pl.Schema(
    {name: dtype for name, dtype in SOCKETS.schema.items() if name not in _ADDED} | {"server": pl.Int64()}
)
"""The sampler's columns. `server`: the number of the server beyond the far end that is one of the ends."""
_HOSTS = {"client": 0, "near": 1, "far": 2, "server": 3}
_NO_SERVER = -1
_AS_CLIENT = ("local_port", "remote_port")
_AS_SERVER = ("remote_port", "local_port")
"""A socket's own port and the other's, as a flow's client has them, and its server."""


def with_owners(
    sockets: pl.LazyFrame, flows: pl.DataFrame, results: Mapping[str, WorkloadResult], spec: RunSpec
) -> pl.LazyFrame:
    """The table `sockets` from the sampler's rows, which are in the order of their times. Works in pieces, so
    that memory does not grow with the run."""
    first_server = _first_servers(spec)
    ends = _ends(flows, first_server, proxies=spec.split is not None or spec.gateway is not None)
    listening = _listening(results)
    by_server = _by_server(spec, first_server)
    commands = [work.name for work in spec.workloads if work.kind == "exec"]
    rest = commands[0] if len(commands) == 1 else None

    def owned(piece: pl.DataFrame) -> pl.DataFrame:
        piece = piece.with_columns(pl.col("server").fill_null(_NO_SERVER))
        piece = _of_flows(piece, ends)
        piece = piece.join(by_server, on="server", how="left", maintain_order="left")
        for port in ("local_port", "remote_port"):
            named = {name: f"{name}_of_{port}" for name in ("workload", "role")}
            there = listening.rename({"port": port} | named)
            piece = piece.join(there, on=port, how="left", maintain_order="left")
        is_data = pl.col("flow").is_not_null() | pl.col("workload_of_server").is_not_null()
        return piece.with_columns(
            pl.coalesce(
                "workload",
                "workload_of_server",
                "workload_of_local_port",
                "workload_of_remote_port",
                pl.lit(rest, dtype=pl.String()),
            ).alias("workload"),
            pl.when(is_data)
            .then(pl.lit("data"))
            .otherwise(pl.coalesce("role_of_local_port", "role_of_remote_port"))
            .alias("role"),
        ).select(SOCKETS.names)

    return sockets.map_batches(owned, schema=SOCKETS.schema, streamable=True)


def _ends(flows: pl.DataFrame, first_server: Mapping[str, int], *, proxies: bool) -> pl.DataFrame:
    """Two rows a flow, one for the socket at each end, in the order in which the flows were begun.

    With a split six: near and far have a socket towards each side, with the addresses and ports of the hosts.
    Gateways have only those towards the hosts.
    """
    known = flows.drop_nulls(["local_port", "remote_port", "start_s"]).with_columns(
        pl.col("workload").replace_strict(first_server, default=None, return_dtype=pl.Int64).alias("first")
    )
    number = pl.col("server").str.extract(r"^server-(\d+)$", 1).cast(pl.Int64) - 1 + pl.col("first")
    client, server = (pl.col(whose).str.extract("^([a-z]+)", 1) for whose in ("client", "server"))
    places = [(client, *_AS_CLIENT), (server, *_AS_SERVER)]
    if proxies:
        places += [(pl.lit(proxy), *ports) for proxy in ("near", "far") for ports in (_AS_CLIENT, _AS_SERVER)]
    ends = [
        known.select(
            host.alias("host"),
            "ip",
            pl.col(local).alias("local_port"),
            pl.col(remote).alias("remote_port"),
            number.fill_null(_NO_SERVER).alias("server"),
            "start_s",
            "workload",
            "flow",
        ).select(_end(), "start_s", "workload", "flow")
        for host, local, remote in places
    ]
    return pl.concat(ends).sort("start_s", maintain_order=True)


def _of_flows(sockets: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """With `workload` and `flow` of the flow, as far as there is one."""
    known = ends.join(sockets.select(_end()).unique(), on="end", how="semi", maintain_order="left")
    before, after = (
        sockets.select("time_s", _end()).join_asof(
            known, left_on="time_s", right_on="start_s", by="end", strategy=strategy, check_sortedness=False
        )
        for strategy in ("backward", "forward")
    )
    return sockets.with_columns(
        before[column].fill_null(after[column]).alias(column) for column in ("workload", "flow")
    )


def _end() -> pl.Expr:
    """A number for one end of a connection: joins by it are much faster than by its parts."""
    host = pl.col("host").replace_strict(_HOSTS, return_dtype=pl.Int64)
    number = host * 2 + (pl.col("ip") == 6).cast(pl.Int64)
    for column in ("local_port", "remote_port"):
        number = number * 65536 + pl.col(column)
    return (number * 65536 + pl.col("server") + 1).alias("end")


def _listening(results: Mapping[str, WorkloadResult]) -> pl.DataFrame:
    """Each port that a workload's servers listen at."""
    rows = [(port, name, role) for name, result in results.items() for port, role in result.ports.items()]
    return pl.DataFrame(
        rows, schema={"port": pl.Int64(), "workload": pl.String(), "role": pl.String()}, orient="row"
    )


def _first_servers(spec: RunSpec) -> dict[str, int]:
    """By workload of the kind `channels` the number of its first server, among all of the run's."""
    channels = [work for work in spec.workloads if work.kind == "channels"]
    firsts = accumulate((work.servers for work in channels), initial=0)
    return {work.name: first for work, first in zip(channels, firsts, strict=False)}


def _by_server(spec: RunSpec, first_server: Mapping[str, int]) -> pl.DataFrame:
    rows = [
        (first_server[work.name] + server, work.name)
        for work in spec.workloads
        if work.kind == "channels"
        for server in range(work.servers)
    ]
    return pl.DataFrame(rows, schema={"server": pl.Int64(), "workload_of_server": pl.String()}, orient="row")
