"""Reads simple values of options without pydantic.

typer converts every value by a pydantic model that it makes for the option, which takes longer than
everything that `bentpipe calc` does. Text needs no conversion, nor does a default. All else is left to typer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _Reader:
    """Stands where typer has its `RuntimeParam`."""

    annotation: Any
    typers_own: Callable[[], Any]

    def __call__(self) -> "_Reader":
        """As typer asks a parameter for it."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if not several and type(value) is self.annotation:
            return value
        if self.annotation == list[str] and isinstance(value, list | tuple):
            return list(value)
        return self.typers_own().coerce(value, param=param, ctx=ctx)


def quickly_read(parameters: Any) -> Any:
    """The same parameters, with this reader."""
    for each in parameters:
        own = getattr(each, "get_runtime_param", None)
        if own is not None and not isinstance(own, _Reader):
            each.get_runtime_param = _Reader(each.type_descriptor.annotation, own)
    return parameters
