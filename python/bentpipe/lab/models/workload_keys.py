"""The keys that every kind of `[[workload]]` has."""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import Instant, Table, doc

_NAME_PATTERN = "[A-Za-z0-9_-]{1,64}"


def _plain_name(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(_NAME_PATTERN, value):
        raise FaultError(
            "expected up to 64 letters, digits, - and _: a dotted key is made of it (workload.NAME.size)"
        )
    return value


Name = Annotated[
    str, BeforeValidator(_plain_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME_PATTERN}$"})
]
Direction = Annotated[
    Literal["down", "up"],
    doc("`down`: the server sends; `up`: the client sends"),
]


class WorkloadKeys(Table):
    """What every kind of workload has."""

    name: Annotated[
        Name | None,
        doc(
            "its name in keys (`workload.NAME.size`), tables and results; no two may be the same",
            default="the kind",
        ),
    ] = None
    start: Annotated[
        Instant,
        doc(
            "when it begins; a time below 0 is before the measured time, on the idle path",
        ),
    ] = 0
    enabled: Annotated[
        bool,
        doc(
            "`false` leaves the workload out, for example in a variant",
        ),
    ] = True
