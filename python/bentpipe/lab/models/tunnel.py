"""`[tunnel]`: whole packets cross the path coded, between near and far."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import Span, Table, doc
from bentpipe.words.faults import shown

RULES = ("adaptive", "titrated")
_DIGITS = 9
"""Of a redundancy: a ratio that is nearer to 1 is read as 1 by the engines."""


def _redundancy(value: object) -> float | str:
    would_do = 'expected repairs per packet, such as 0.1, or "adaptive", or "titrated"'
    if isinstance(value, str) and value in RULES:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FaultError(would_do)
    if not 0 <= round(value, _DIGITS) < 1:
        raise FaultError(
            "expected repairs per packet, 0 or more and below 1: at 1 as many repairs as packets cross",
            found=f"{shown(value)}, which is out of range",
        )
    return float(value)


def _kind(value: object) -> str:
    if value != "coded":
        raise FaultError('expected "coded", the only kind of tunnel that there is')
    return "coded"


class Tunnel(Table):
    """A coded tunnel around the path. Whole IP packets cross in it, and TCP is not split."""

    kind: Annotated[Literal["coded"], BeforeValidator(_kind), doc("kind of tunnel", "the only kind")] = (
        "coded"
    )
    redundancy: Annotated[
        float | Literal["adaptive", "titrated"],
        BeforeValidator(_redundancy),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
                    {"type": "string", "enum": list(RULES)},
                ]
            }
        ),
        doc(
            "repair packets per packet, below 1; `adaptive`: as many as the reported losses need; "
            "`titrated`: the same number, but each waits before the queue until that is at most half full",
            "it needs no known loss rate",
        ),
    ] = "adaptive"
    titration: Annotated[
        bool,
        doc(
            "each repair packet waits before the queue until that is at most half full. "
            '`redundancy = "titrated"` is adaptive with it',
            "a tunnel usually does not know the queue",
        ),
    ] = False
    window: Annotated[
        Annotated[int, Field(ge=1, le=65_535)] | None,
        doc(
            'how many packets a repair packet covers; with `repair = "exact"` how many can be requested',
            "192 ms of full packets at 16 Mbit/s",
            default='256; with `repair = "exact"` those of a round trip with full queues, twice',
        ),
    ] = None
    hold: Annotated[
        Span | None,
        doc(
            "how long a packet waits for an earlier one that is missing; `0 s`: packets do not wait",
            default="a quarter of the base round trip; with exact repair as long as TCP waits for an ACK",
        ),
    ] = None
    repair: Annotated[
        Literal["code", "exact", "both"],
        doc(
            "how lost packets are repaired: `code`: by repair packets; `exact`: the receiver requests them, "
            "and they are sent again, without repair packets; `both`",
            "a packet that is sent again comes a round trip later",
        ),
    ] = "code"

    carries: Annotated[
        list[str] | None,
        doc(
            "names of the workloads whose packets cross in the tunnel; other packets cross outside it, "
            "uncoded",
            default="all workloads",
        ),
    ] = None

    @model_validator(mode="after")
    def _no_repairs_beside_exact(self) -> Self:
        if self.repair != "exact":
            return self
        if "redundancy" in self.model_fields_set and self.redundancy != 0:
            raise FaultError(
                'expected none or 0 beside repair = "exact", which sends no repairs; for both write '
                'repair = "both"',
                key="redundancy",
            )
        if self.titration:
            raise FaultError(
                'expected false beside repair = "exact": only repair packets wait for room in the queue, and '
                'it sends none; for both write repair = "both"',
                key="titration",
            )
        return self
