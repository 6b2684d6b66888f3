"""Reads a plain command line without typer, which takes longer to load than the whole of `bentpipe calc`.

It reads what has one meaning only. Help, completion, a fault, and whatever else is not plain is left to
typer, which says what is to be said: a test holds the two to the same values.
"""

import os
import re
from collections.abc import Callable, Sequence
from enum import EnumType
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from bentpipe.cli import answers, typed
from bentpipe.cli.commands import COMMANDS
from bentpipe.cli.declared import Argument, Declared, Option


class _NotPlainError(Exception):
    """For typer."""


def answered(words: Sequence[str]) -> bool:
    """Whether the command line was plain: then the command has run."""
    try:
        if os.name == "nt" or "_BENTPIPE_COMPLETE" in os.environ or not words:
            return False
        name, *rest = ["version"] if list(words) == ["--version"] else words
        if name not in COMMANDS or COMMANDS[name].hands_over:
            return False
        function, values = read(name, rest)
    except _NotPlainError:
        return False
    typed.words = tuple(words)
    with answers.to_the_end(), answers.to_errors(name):
        function(**values)
    return True


def plainly(name: str, words: Sequence[str]) -> dict[str, Any] | None:
    """The values of all parameters of that command, or None where typer is to read them."""
    try:
        return read(name, words)[1]
    except _NotPlainError:
        return None


def read(name: str, words: Sequence[str]) -> tuple[Callable[..., None], dict[str, Any]]:
    """The command, and the values of all of its parameters."""
    entry = COMMANDS[name]
    function = getattr(import_module(f"bentpipe.cli.{entry.module}"), entry.function)
    parameters = [_Parameter(each, function) for each in function.__annotations__ if each != "return"]
    options = {option: each for each in parameters for option in each.options}
    places = [each for each in parameters if not each.options]
    values: dict[str, Any] = {each.name: each.otherwise for each in parameters}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            if not places or not word:
                raise _NotPlainError
            parameter = places.pop(0)
            values[parameter.name] = parameter.read(word)
            continue
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if option not in options:
            raise _NotPlainError
        parameter = options[option]
        if parameter.kind is bool:
            if equals:
                raise _NotPlainError
            values[parameter.name] = True
            continue
        if not equals:
            value = next(rest, "")
            if value.startswith("-"):  # another option, or a negative number
                raise _NotPlainError
        found = parameter.read(value)
        values[parameter.name] = [*(values[parameter.name] or ()), found] if parameter.several else found
    if any(value is _MISSING for value in values.values()):
        raise _NotPlainError
    return function, values


_MISSING = object()


class _Parameter:
    """A parameter of a command: what it is called and what it takes."""

    def __init__(self, name: str, function: Callable[..., None]) -> None:
        annotation = function.__annotations__[name]
        declared = getattr(annotation, "__metadata__", (None,))[0]
        if not isinstance(declared, Declared) or any("/" in each for each in declared.names):
            raise _NotPlainError
        self.name = name
        self._settings = declared.settings
        self.options: tuple[str, ...] = ()
        if isinstance(declared, Option):
            self.options = declared.names or (f"--{name.replace('_', '-')}",)
        kind = annotation.__origin__
        if isinstance(kind, UnionType):
            kind, *more = (each for each in get_args(kind) if each is not NoneType)
            if more:
                raise _NotPlainError
        self.several = kind == list[str]
        self.kind = str if self.several else kind
        if (self.kind is bool and not declared.names) or (self.several and isinstance(declared, Argument)):
            raise _NotPlainError
        self.otherwise = self._default(function)

    def _default(self, function: Callable[..., None]) -> Any:
        code, places = function.__code__, function.__defaults__ or ()
        of_places = code.co_varnames[code.co_argcount - len(places) : code.co_argcount]
        known = dict(zip(of_places, places, strict=True)) | (function.__kwdefaults__ or {})
        return known.get(self.name, _MISSING)

    def read(self, word: str) -> Any:
        """The value of a word."""
        if self.kind is str and word:
            return word
        if self.kind is int and re.fullmatch("[0-9]{1,9}", word):
            least, most = self._settings.get("min"), self._settings.get("max")
            if (least is None or int(word) >= least) and (most is None or int(word) <= most):
                return int(word)
        if get_origin(self.kind) is Literal and word in get_args(self.kind):
            return word
        if isinstance(self.kind, EnumType) and word in list(self.kind):
            return self.kind(word)
        raise _NotPlainError
