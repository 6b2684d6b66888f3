"""What an engine cannot do, and what goes wrong with it."""

from bentpipe.errors import BentpipeError


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
