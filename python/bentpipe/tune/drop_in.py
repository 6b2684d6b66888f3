"""The file in /etc/sysctl.d that sets the sysctls at each boot."""

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.tune.files import Places
from bentpipe.tune.journal import Entry, Journal
from bentpipe.tune.settings import plainly


def has_drop_in(of: Journal) -> bool:
    """Whether this tune writes the file."""
    return bool(_sysctls(of)) and not of.until_reboot


def _sysctls(of: Journal) -> list[Entry]:
    return [each for each in of.entries if each.kind == "sysctl"]


def drop_in_text(places: Places, of: Journal, proof: Mapping[str, Any] | None) -> str:
    lines = [
        f"# Written by bentpipe tune, {of.begun}, for {_printable(of.why)}.",
        f"# Take it back: {_printable(places.command('--undo'))}",
    ]
    if proof is not None:
        low, high = proof["interval"]
        times = f"{proof['times']:.3g} times better ({low:.3g} to {high:.3g})"
        lines.append(f"# Measured: {times}, {len(proof['pairs'])} pairs.")
    for each in _sysctls(of):
        lines += [f"# was {plainly(each.old)}", f"{each.name} = {plainly(each.new)}"]
    return "\n".join(lines) + "\n"


def later(places: Places, names: Sequence[str]) -> list[str]:
    """Sentences on files that set the same sysctls at boot after the drop-in file."""
    folder = places.drop_in.parent
    files = sorted(folder.glob("*.conf")) if folder.is_dir() else []
    found = []
    for file in [each for each in files if each.name > places.drop_in.name] + [folder.parent / "sysctl.conf"]:
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        keys = {line.partition("=")[0].strip(" -\t").replace("/", ".") for line in lines if "=" in line}
        both = [name for name in names if name in keys]
        if both:
            found.append(f"{file} sets {', '.join(both)} too and is read later: remove that there.")
    return found


def _printable(words: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in words)
