"""`[split]`: TCP ends at near and at far."""

from typing import Annotated

from pydantic import Field

from bentpipe.lab.models.base import Table, doc
from bentpipe.lab.models.host import CongestionControl, MinDefaultMax

_AS_HOST = "as in `[host]`"


class SplitPath(Table):
    """TCP of near and far across the path. Missing keys are as in `[host]`."""

    congestion_control: Annotated[
        CongestionControl | None,
        doc("congestion control across the path, as in `[host]`", default=_AS_HOST),
    ] = None
    tcp_rmem: Annotated[
        MinDefaultMax | None, doc("receive buffer: min, default, max in bytes", default=_AS_HOST)
    ] = None
    tcp_wmem: Annotated[
        MinDefaultMax | None, doc("send buffer: min, default, max in bytes", default=_AS_HOST)
    ] = None
    initcwnd: Annotated[
        int | None,
        Field(ge=1, le=1000),
        doc("initial congestion window in segments", default=_AS_HOST),
    ] = None


class Split(Table):
    """Proxies at near and at far, at which TCP ends: each connection becomes three, one of them across the
    path. The hosts do not know of them.
    """

    path: Annotated[
        SplitPath,
        doc(
            "TCP between near and far; their sockets towards client and server are as in `[host]`",
            default=_AS_HOST,
        ),
    ] = SplitPath()
