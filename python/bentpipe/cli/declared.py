"""How a command declares its options: in plain values, since typer takes longer to load than a command may.

They stand in `Annotated[...]`, as typer's own do, with the same names and settings.
"""

from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Annotated, Any


class Declared:
    """An argument or an option: its names, and its settings by typer's names for them. `autocompletion` is
    where the function is: "completion.labs"."""

    __slots__ = ("names", "settings")

    def __init__(self, *names: str, **settings: Any) -> None:
        self.names = names
        self.settings = settings


class Argument(Declared):
    """Found by its place."""

    __slots__ = ()


class Option(Declared):
    """Found by its name: of the parameter, unless it has names of its own."""

    __slots__ = ()


def for_typer(function: Callable[..., None]) -> Callable[..., None]:
    """A copy of the function whose options are typer's."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__doc__ = function.__doc__
    copy.__module__ = function.__module__
    for name, annotation in function.__annotations__.items():
        declared = getattr(annotation, "__metadata__", (None,))[0]
        if isinstance(declared, Declared):
            annotation = Annotated[annotation.__origin__, _typers(declared)]  # noqa: PLW2901
        copy.__annotations__[name] = annotation
    return copy


def _typers(declared: Declared) -> Any:
    import typer

    settings = dict(declared.settings)
    if completes := settings.get("autocompletion"):
        module, _, name = completes.partition(".")
        settings["autocompletion"] = getattr(import_module(f"bentpipe.cli.{module}"), name)
    made = typer.Option if isinstance(declared, Option) else typer.Argument
    return made(*declared.names, **settings)
