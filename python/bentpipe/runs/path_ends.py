"""The sockets whose packets cross the path: of client and server, or with a split of near and far."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from bentpipe.runs.asked import is_split

_STANDS_FOR = {"near": "client", "far": "server"}
_PORTS = ("local_port", "remote_port")


def of_the_path(sockets: pl.DataFrame, record: Mapping[str, Any]) -> pl.DataFrame:
    """The samples of these sockets, in their order.

    Where TCP is split, the samples of near have the host `client` and those of far `server`: the long path's
    own sockets stand in for the hosts', whose ports they have.
    """
    if not is_split(record):
        return sockets
    hosts = list(_STANDS_FOR.values())
    ends = sockets.filter(pl.col("host").is_in(hosts)).select("host", *_PORTS).unique()
    proxies = sockets.filter(pl.col("host").is_in(list(_STANDS_FOR)))
    return proxies.with_columns(pl.col("host").replace(_STANDS_FOR)).join(
        ends, on=["host", *_PORTS], how="semi", maintain_order="left"
    )
