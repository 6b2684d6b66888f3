"""The lab file: read, checked once at the edge, and laid out as the points to run. Knows no engine."""

from bentpipe.lab.errors import LabError
from bentpipe.lab.load import Lab
from bentpipe.lab.models.lab import AS_IS
from bentpipe.lab.point import Point
from bentpipe.lab.published import published
from bentpipe.lab.schema import json_schema
from bentpipe.lab.shipped import catalogue, shipped_labs
from bentpipe.lab.spec import RunSpec

__all__ = [
    "AS_IS",
    "Lab",
    "LabError",
    "Point",
    "RunSpec",
    "catalogue",
    "json_schema",
    "published",
    "shipped_labs",
]
