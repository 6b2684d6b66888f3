"""Engines by name. A new one is a file here and a line in the registry.

Nothing is imported before it is asked for: choosing one engine never loads another's libraries, and the live
engine's host process, which must have one thread, loads none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal

from bentpipe.errors import EngineError

if TYPE_CHECKING:
    from bentpipe.engines.base import Engine, EngineOptions

Name = Literal["live", "sim"]
REGISTRY: dict[str, str] = {
    "sim": "bentpipe.engines.sim:SimEngine",
    "live": "bentpipe.engines.live:LiveEngine",
}
DEFAULT: Name = "sim"
"""On the command line and in Python. It needs no privilege and no program, runs on any machine, takes
seconds, and gives the same bits everywhere; `live` is asked for by name."""


def create(name: str, options: EngineOptions | None = None) -> Engine:
    """The engine of that name, or EngineError."""
    if name not in REGISTRY:
        raise EngineError(
            f"there is no engine {name!r}; the engines are {', '.join(REGISTRY)}", what="engine"
        )
    module, _, attribute = REGISTRY[name].partition(":")
    engine: Engine = getattr(import_module(module), attribute)(options)
    return engine
