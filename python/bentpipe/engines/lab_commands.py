"""The commands that a lab runs (`exec`), and whether it may.

A lab file is passed on like data, but its commands are a program. So a lab that does not come with bentpipe
runs them only once somebody has allowed it. What they reach then, docs/live.md says.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bentpipe.errors import EngineError
from bentpipe.lab.load import Lab
from bentpipe.lab.shipped import shipped_labs
from bentpipe.lab.spec import RunSpec
from bentpipe.words.printable import printable


@dataclass(frozen=True)
class LabCommand:
    workload: str
    host: str
    argv: tuple[str, ...]

    def __str__(self) -> str:
        return printable(f"{self.workload}, at {self.host}: {shlex.join(self.argv)}")


def of(specs: Iterable[RunSpec]) -> list[LabCommand]:
    """Each once, in the order in which they appear."""
    return list(
        dict.fromkeys(
            LabCommand(work.name, work.host, work.command)
            for spec in specs
            for work in spec.workloads
            if work.kind == "exec"
        )
    )


def comes_with_bentpipe(lab: Lab) -> bool:
    if lab.file is None:
        return False
    file = lab.file.resolve()
    return any(file == shipped.resolve() for shipped in shipped_labs().values())


def listed(commands: Sequence[LabCommand]) -> str:
    lines = "".join(f"\n  {command}" for command in commands)
    return f"this lab runs {len(commands)} command{'s' * (len(commands) != 1)} on this machine:{lines}"


def refuse(commands: Sequence[LabCommand]) -> None:
    """Raise EngineError where there is one."""
    if commands:
        raise EngineError(
            f"{listed(commands)}\nNothing was run. To allow it: --allow-exec, in Python allow_exec=True. "
            "What a command can reach: docs/live.md",
            what="allow-exec",
        )
