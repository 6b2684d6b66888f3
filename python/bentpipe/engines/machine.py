"""The machine and the tools' versions, as a run's record keeps them: an old result must explain itself."""

import contextlib
import os
import platform
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from bentpipe import _core

_VERSION_OPTION = {"iperf3": "--version", "ping": "-V", "curl": "--version", "nginx": "-v"}

_IN_SBIN = {"nginx"}
"""Started with /usr/sbin in PATH, where an ordinary user of Debian has none."""


@cache
def facts() -> dict[str, object]:
    cpuinfo = _text(Path("/proc/cpuinfo"))
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB", _text(Path("/proc/meminfo")), re.MULTILINE)
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu": model[1].strip() if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": int(memory[1]) * 1024 if memory else None,
    }


def has_processor_quota(root: Path = Path("/")) -> bool:
    """Whether a control group gives this process only a part of the processors' time, as some containers do.
    What spins there takes it from the others. `root`: the folder with proc and sys."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        hierarchy = root / "sys/fs/cgroup" / controllers.removeprefix("name=")
        group = hierarchy / path.lstrip("/")
        for folder in (group, *group.parents):
            quota = _text(folder / "cpu.max") or _text(folder / "cpu.cfs_quota_us")
            if quota and quota.split()[0] not in ("max", "-1"):
                return True
            if folder == hierarchy:
                break
    return False


def spinning_disturbs() -> bool:
    """Whether processes that keep idle processors awake would take time from others: where the user says so
    by `BENTPIPE_LET_SLEEP=1`, as for several runs beside each other, and where there is a quota."""
    return os.environ.get("BENTPIPE_LET_SLEEP", "") not in ("", "0") or has_processor_quota()


def congestion_controls() -> tuple[str, ...]:
    """Those that the kernel has loaded; none where it does not say."""
    return tuple(_text(Path("/proc/sys/net/ipv4/tcp_available_congestion_control")).split())


def versions(tools: set[str]) -> dict[str, str | None]:
    """Of bentpipe, Python, and these tools: the first line each says of itself, or None."""
    own: dict[str, str | None] = {"bentpipe": _core.__version__, "python": platform.python_version()}
    return own | {tool: _version_of(tool) for tool in sorted(tools)}


def with_system_programs() -> dict[str, str]:
    """A PATH that has nginx too: an ordinary user's on Debian does not."""
    return {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}


def program(name: str) -> str | None:
    """Where the program is that a live run would start under this name; None: nowhere."""
    path = with_system_programs()["PATH"] if name in _IN_SBIN else os.environ.get("PATH", "")
    return shutil.which(name, path=path)


def _version_of(tool: str) -> str | None:
    path = shutil.which(tool, path=with_system_programs()["PATH"])
    # What failed once, since the machine was busy perhaps, is asked again by the next run.
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return _version(path, _VERSION_OPTION.get(tool, "--version")) if path else None
    return None


@cache
def _version(path: str, option: str) -> str | None:
    said = subprocess.run([path, option], capture_output=True, text=True, timeout=5, check=False)
    lines = (said.stdout or said.stderr).splitlines()
    return lines[0].strip() if lines else None


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace")
    return ""
