"""`[gateway]`: bentpipe's gateways at near and far."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import Rate, Table, doc
from bentpipe.words.faults import shown


def _known(value: object) -> object:
    if value == "fair" or (isinstance(value, dict) and "cap" in value):
        raise FaultError(
            'expected a rate that is known to be free, such as "16 Mbit/s": the gateways have no other '
            "control law yet"
        )
    return value


def _in_range(rate_bit_s: int) -> int:
    if not 1_000 <= rate_bit_s <= 1_000_000_000_000:
        raise FaultError(
            "expected 1 kbit/s to 1 Tbit/s", found=f"{units.format_rate(rate_bit_s)}, which is out of range"
        )
    return rate_bit_s


def _redundancy(value: object) -> float | str:
    would_do = 'expected repairs per packet, such as 0.1, or "adaptive"'
    if value == "adaptive":
        return "adaptive"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FaultError(would_do)
    if not 0 <= round(value, 9) < 1:
        raise FaultError(
            "expected repairs per packet, 0 or more and below 1: at 1 as many repairs as packets cross",
            found=f"{shown(value)}, which is out of range",
        )
    return float(value)


_FixedRate = Annotated[Rate, BeforeValidator(_known), AfterValidator(_in_range)]


class Gateway(Table):
    """Gateways at near and at far, at which TCP ends. Between them its bytes cross in one coded session, at a
    rate of its own. The hosts do not know of them.
    """

    rate: Annotated[
        _FixedRate | None,
        doc(
            "rate at which far sends to near, in IP packets; it is used from the first packet on",
            default="that of the path's pipe down",
        ),
    ] = None
    up_rate: Annotated[
        _FixedRate | None,
        doc(
            "rate at which near sends to far",
            default="that of the path's pipe up, if `rate` is not given; otherwise as `rate`",
        ),
    ] = None
    redundancy: Annotated[
        float | str,
        BeforeValidator(_redundancy),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
                    {"type": "string", "enum": ["adaptive"]},
                ]
            }
        ),
        doc(
            "repair packets per packet, sent only when nothing else waits; `adaptive`: as many as the "
            "reported losses need; 0: none. What is lost is sent again in any case",
            "it needs no known loss rate",
        ),
    ] = "adaptive"
