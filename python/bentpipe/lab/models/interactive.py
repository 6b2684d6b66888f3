"""`kind = "interactive"`: keystrokes over one TCP connection, each answered."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import PositiveSize, PositiveSpan, doc
from bentpipe.lab.models.workload_keys import WorkloadKeys


class Interactive(WorkloadKeys):
    """Keystrokes: small messages over one TCP connection. The server answers each with as many bytes."""

    kind: Annotated[Literal["interactive"], doc("this kind")]
    count: Annotated[
        int | None,
        Field(ge=1, le=10**6),
        doc("number of messages; use either this or `time`. p99 needs 100 or more", default="no limit"),
    ] = None
    time: Annotated[
        PositiveSpan | None,
        doc(
            "how long messages are written, from the first one, which is written when the connection is open",
            default="until the run's end",
        ),
    ] = None
    interval: Annotated[
        Annotated[PositiveSpan, Field(ge=1_000_000)],
        doc("mean time between two messages, 1 ms or more"),
    ] = 200_000_000
    gaps: Annotated[
        Literal["fixed", "exponential"],
        doc(
            "`fixed`: every gap is `interval`; `exponential`: gaps are drawn by the seed from an exponential "
            "distribution with that mean"
        ),
    ] = "fixed"
    size: Annotated[
        PositiveSize,
        Field(le=65536),
        doc(
            "size of a message, and of its answer",
            "a key in OpenSSH: 10 bytes of SSH_MSG_CHANNEL_DATA, padded and sealed by chacha20-poly1305 or "
            "AES-GCM (RFC 4253, 6; RFC 4254, 5.2)",
        ),
    ] = 36

    @model_validator(mode="after")
    def _count_or_time(self) -> Self:
        if self.count is not None and self.time is not None:
            raise FaultError("expected only one of them", found='both "count" and "time"', key="time")
        return self
