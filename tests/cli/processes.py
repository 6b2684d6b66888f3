"""Processes that a test has started, wherever they went."""

from pathlib import Path


def marked(mark: str) -> dict[int, bytes]:
    """Processes that a test started, found by their environment, and their command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"BENTPIPE_TEST={mark}".encode() in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_bytes()
        except OSError:
            continue
    return found


def packets_sent(pid: int, device: str = "path") -> int:
    """Packets that the network device has sent in the namespace of that process. 0 where it has ended."""
    try:
        rows = Path(f"/proc/{pid}/net/dev").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(row.split()[10]) for row in map(str.strip, rows) if row.startswith(f"{device}:"))
