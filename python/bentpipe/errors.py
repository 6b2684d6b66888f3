"""The family of errors that bentpipe raises for its users. Imports nothing."""

from __future__ import annotations

from typing import Any


class BentpipeError(Exception):
    """Something that was asked of bentpipe cannot be done. `str()` is the whole message for the user."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled without a call of `__init__`, whose arguments differ from `args`. An error that
        cannot be unpickled breaks a pool of processes."""
        return _remade, (type(self), self.args), self.__dict__


class LabError(BentpipeError):
    """A lab, or a change asked of it, that cannot be run as it stands. `str()` is the whole message for the
    user.

    Attributes:
        where: file and line (`labs/geo.toml:12`), or the option that asked for it (`--set path.rtt=30`).
        key: dotted key of the lab, or "" where the fault is not in one.
        found: what stands there.
        remedy: what was expected.
    """

    def __init__(self, where: str, key: str, found: str, remedy: str) -> None:
        self.where = where
        self.key = key
        self.found = found
        self.remedy = clause(remedy)
        place = f"{where}: {key}" if key else where
        super().__init__(f"{place}: found {found}; {self.remedy}")


class EngineError(BentpipeError):
    """The engine cannot do what was asked, here or at all.

    `what` names the thing at fault, `remedy` is one shell command that would help, where there is one.
    """

    def __init__(self, message: str, *, what: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        message = str(self.args[0])
        return f"{message}\n  to fix it, run:  {self.remedy}" if self.remedy else message


class EngineFaultError(EngineError):
    """The engine itself is at fault, not the request."""


class StoreError(BentpipeError):
    """A folder or a table is not what it should be; the message says which and what was found."""


class QueryError(StoreError):
    """A question that has no answer; the message is DuckDB's."""


class ComparisonError(BentpipeError):
    """A comparison cannot be made as asked; the message says what was found and what was expected."""


class TuneError(BentpipeError):
    """A setting of this host cannot be planned, applied or taken back; the message says which and why."""


class MissingExtraError(BentpipeError):
    """What was asked needs a library that only one of bentpipe's extras installs.

    Attributes:
        extra: its name, as in `pip install 'bentpipe[query]'`.
    """

    def __init__(self, what: str, library: str, extra: str) -> None:
        self.extra = extra
        super().__init__(
            f"{what} needs {library}, which is not installed; to install it:  pip install 'bentpipe[{extra}]'"
        )


class ExecutorError(BentpipeError):
    """Runs cannot be done there, or no longer. Those that were finished are kept."""


def _remade(kind: type[BentpipeError], args: tuple[Any, ...]) -> BentpipeError:
    return kind.__new__(kind, *args)


def clause(remedy: str) -> str:
    """A remedy behind a semicolon. Behind a question ("did you mean ..?") a sentence begins."""
    question, mark, rest = remedy.partition("? ")
    text = (
        f"{question}? {rest[:1].upper()}{rest[1:]}"
        if mark and question.startswith("did you mean")
        else remedy
    )
    return text if text[:2].isupper() else f"{text[:1].lower()}{text[1:]}"
