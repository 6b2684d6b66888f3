"""`[gateway]`: bentpipe's gateways at near and far."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import Table, doc
from bentpipe.words.faults import shown


def _law(value: object) -> int | str | dict[str, int]:
    """A rate in bit/s that is used at once, one that is never exceeded, or "fair"."""
    if value == "fair":
        return "fair"
    if isinstance(value, str) and value.strip().isalpha():
        raise FaultError('expected a rate such as "16 Mbit/s", "fair", or { cap = "16 Mbit/s" }')
    if not isinstance(value, dict):
        return _in_range(units.parse_rate(value))
    if set(value) != {"cap"}:
        raise FaultError('expected { cap = "16 Mbit/s" }, with no other key')
    return {"cap": _in_range(units.parse_rate(value["cap"]))}


def _in_range(rate_bit_s: int) -> int:
    if not 1_000 <= rate_bit_s <= 1_000_000_000_000:
        raise FaultError(
            "expected 1 kbit/s to 1 Tbit/s", found=f"{units.format_rate(rate_bit_s)}, which is out of range"
        )
    return rate_bit_s


def _shown_law(law: int | str | dict[str, int]) -> str | dict[str, str]:
    if isinstance(law, dict):
        return {"cap": units.format_rate(law["cap"])}
    return units.format_rate(law) if isinstance(law, int) else law


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


_RATE = {"type": "string", "title": "rate", "examples": ["16 Mbit/s", "2 MB/s"]}
_GatewayRate = Annotated[
    int | str | dict[str, int],
    BeforeValidator(_law),
    PlainSerializer(_shown_law),
    WithJsonSchema(
        {
            "anyOf": [
                _RATE,
                {
                    "type": "object",
                    "properties": {"cap": _RATE},
                    "required": ["cap"],
                    "additionalProperties": False,
                },
                {"type": "string", "enum": ["fair"]},
            ]
        }
    ),
]


class Gateway(Table):
    """Gateways at near and at far, at which TCP ends. Between them its bytes cross in one coded session, at a
    rate of its own. The hosts do not know of them.
    """

    kind: Annotated[
        Literal["bentpipe", "kcptun", "hysteria2", "tuic"],
        doc(
            "whose gateways they are. Programs of others can take their place for comparison: `kcptun`, and "
            "`hysteria2` and `tuic` by sing-box; `live` only, and they have to be installed"
        ),
    ] = "bentpipe"
    rate: Annotated[
        _GatewayRate | None,
        doc(
            "rate at which far sends to near, in IP packets; it is used from the first packet on. "
            '`{ cap = "16 Mbit/s" }`: what the path delivers, shared with other traffic, and never more than '
            "this; `fair`: the same without a cap",
            default="that of the path's pipe down",
        ),
    ] = None
    up_rate: Annotated[
        _GatewayRate | None,
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
    carries: Annotated[
        list[str] | None,
        doc(
            "names of the workloads whose connections the gateways take; the packets of the others cross "
            "outside the session, like other traffic",
            default="all workloads",
        ),
    ] = None
