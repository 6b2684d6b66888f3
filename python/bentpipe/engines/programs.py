"""The programs that live workloads start, and the Debian package that brings each."""

from collections.abc import Iterable

from bentpipe.engines import machine
from bentpipe.engines.workloads import REGISTRY
from bentpipe.errors import EngineError
from bentpipe.lab.spec import RunSpec

PACKAGES = {
    "aria2c": "aria2",
    "curl": "curl",
    "iperf3": "iperf3",
    "kcptun-client": "kcptun",
    "kcptun-server": "kcptun",
    "nginx": "nginx-light",
    "ping": "iputils-ping",
}
_BUILTINS = {"alias", "bg", "cd", "eval", "exec", "export", "fg", "jobs", "read", "set", "source", "ulimit",
             "umask", "unset", "wait"}  # fmt: skip


def require(specs: Iterable[RunSpec]) -> None:
    """Raise EngineError naming every program that these runs need and this machine lacks."""
    needed: dict[str, dict[str, None]] = {}
    for spec in specs:
        for work in spec.workloads:
            for name in REGISTRY[work.kind].programs(work):
                needed.setdefault(name, {})[work.name] = None
    refuse_missing({name: _workloads(list(works)) for name, works in needed.items()})


def refuse_missing(needed: dict[str, str]) -> None:
    """Raise EngineError for those programs that are not here; each comes with who needs it, in words."""
    missing = {name: who for name, who in needed.items() if machine.program(name) is None}
    if not missing:
        return
    lines = [f"program not found: {name} ({who}){_hint(name)}" for name, who in missing.items()]
    packages = sorted({PACKAGES[name] for name in missing if name in PACKAGES})
    raise EngineError(
        lines[0] if len(lines) == 1 else "\n  ".join(["programs needed for this lab are missing:", *lines]),
        what="programs",
        remedy=f"sudo apt-get install {' '.join(packages)}" if packages else None,
    )


def _workloads(names: list[str]) -> str:
    return f"needed by workload{'s' * (len(names) > 1)} {', '.join(names)}"


def _hint(name: str) -> str:
    if name in _BUILTINS:
        return f'; it is a command of the shell: write ["sh", "-c", "{name} ..."]'
    return "; no such executable file" if "/" in name else ""
