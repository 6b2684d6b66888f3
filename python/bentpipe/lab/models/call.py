"""`kind = "call"`: a voice call over UDP."""

from typing import Annotated, Literal

from pydantic import Field

from bentpipe.lab.models.base import PositiveSize, PositiveSpan, Span, doc
from bentpipe.lab.models.workload_keys import WorkloadKeys


class Call(WorkloadKeys):
    """A voice call: RTP over UDP in both directions at once, at a constant rate."""

    kind: Annotated[Literal["call"], doc("this kind")]
    time: Annotated[PositiveSpan | None, doc("how long it lasts", default="until the run's end")] = None
    interval: Annotated[
        Annotated[PositiveSpan, Field(ge=1_000_000)], doc("time between two packets, 1 ms or more")
    ] = 20_000_000
    size: Annotated[
        PositiveSize,
        Field(le=65000),
        doc("voice in a packet; RTP adds 12 bytes, UDP 8", "20 ms of G.711: 64 kbit/s"),
    ] = 160
    playout: Annotated[
        Span,
        doc("how long after the least delay the receiver plays a packet; later packets count as lost"),
    ] = 60_000_000
    concealment: Annotated[
        bool,
        doc("whether the receiver conceals missing packets (G.711 Appendix I); it changes only the score"),
    ] = True
