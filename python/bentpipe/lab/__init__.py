"""The lab file: read, checked once at the edge, and laid out as the points to run. Knows no engine."""

from typing import TYPE_CHECKING

from bentpipe.lazy import names_of

if TYPE_CHECKING:
    from bentpipe.errors import LabError
    from bentpipe.lab.load import Lab
    from bentpipe.lab.models.lab import AS_IS
    from bentpipe.lab.point import Point
    from bentpipe.lab.schema import json_schema
    from bentpipe.lab.shipped import catalogue, shipped_labs
    from bentpipe.lab.spec import RunSpec
else:
    __getattr__ = names_of(
        __name__,
        {
            "AS_IS": "bentpipe.lab.models.lab",
            "Lab": "bentpipe.lab.load",
            "LabError": "bentpipe.errors",
            "Point": "bentpipe.lab.point",
            "RunSpec": "bentpipe.lab.spec",
            "catalogue": "bentpipe.lab.shipped",
            "json_schema": "bentpipe.lab.schema",
            "shipped_labs": "bentpipe.lab.shipped",
        },
    )

__all__ = [
    "AS_IS",
    "Lab",
    "LabError",
    "Point",
    "RunSpec",
    "catalogue",
    "json_schema",
    "shipped_labs",
]
