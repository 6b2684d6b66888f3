"""The values that were set before tune changed anything, on disk before the first change.

The journal is there from before the first change until everything is as it was. So whatever stopped the
process, what has to be taken back is in it. After an undo that left settings which somebody changed since,
it has those settings.
"""

import base64
import json
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from bentpipe.errors import TuneError
from bentpipe.tune.files import Places, missing_folders, write_whole

_VERSION = 1
State = Literal["at work", "applied", "left"]
"""left: taken back, but for the settings that somebody changed since."""


@dataclass(frozen=True)
class Entry:
    """One setting: what it was, and what tune sets."""

    kind: str
    name: str
    old: str
    new: str


@dataclass(frozen=True)
class OldFile:
    """A file before tune wrote it."""

    content: bytes | None
    """None: it was not there."""
    mode: int = 0o644

    @classmethod
    def of(cls, file: Path) -> "OldFile":
        try:
            return cls(file.read_bytes(), stat.S_IMODE(file.stat().st_mode))
        except FileNotFoundError:
            return cls(None)


@dataclass(frozen=True)
class Journal:
    entries: Sequence[Entry]
    drop_in: OldFile
    made_folders: Sequence[str]
    """Of the drop-in file, the deepest first."""
    namespace: str
    boot: str
    why: str = ""
    until_reboot: bool = False
    state: State = "at work"
    begun: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    proof: Mapping[str, Any] | None = None

    def of_left(self, entries: Sequence[Entry]) -> "Journal":
        """What remains of it when all was taken back but these."""
        return replace(self, entries=entries, made_folders=(), state="left")

    def with_state(self, state: State, proof: Mapping[str, Any] | None) -> "Journal":
        return replace(self, state=state, proof=proof)

    def write(self, places: Places) -> None:
        content = self.drop_in.content
        document = {
            "version": _VERSION,
            "state": self.state,
            "begun": self.begun,
            "why": self.why,
            "until_reboot": self.until_reboot,
            "namespace": self.namespace,
            "boot": self.boot,
            "settings": [vars(each) for each in self.entries],
            "drop_in": {
                "content": None if content is None else base64.b64encode(content).decode("ascii"),
                "mode": self.drop_in.mode,
            },
            "made_folders": list(self.made_folders),
            "proof": self.proof,
        }
        text = json.dumps(document, indent=1, ensure_ascii=True)
        write_whole(places.journal, text.encode("ascii"), 0o600)


def begun(places: Places, entries: Sequence[Entry], *, why: str, until_reboot: bool) -> Journal:
    """A journal of the present state; not written yet."""
    made = [str(folder) for folder in missing_folders(places.drop_in.parent)]
    return Journal(
        entries, OldFile.of(places.drop_in), made, namespace(), boot(), why=why, until_reboot=until_reboot
    )


def read(places: Places) -> Journal | None:
    """None where nothing is applied. Raises TuneError for a journal that cannot be understood."""
    file = places.journal
    try:
        document = json.loads(file.read_bytes())
        if document["version"] != _VERSION:
            raise TuneError(f"{file}: written by another version of bentpipe; use that one to take it back")
        content = document["drop_in"]["content"]
        return Journal(
            [Entry(**each) for each in document["settings"]],
            OldFile(
                None if content is None else base64.b64decode(content, validate=True),
                int(document["drop_in"]["mode"]),
            ),
            document["made_folders"],
            document["namespace"],
            document["boot"],
            document["why"],
            document["until_reboot"],
            document["state"],
            document["begun"],
            document["proof"],
        )
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise TuneError(f"{file}: {error.strerror}; run it as root") from error
    except (ValueError, LookupError, TypeError) as error:
        raise TuneError(f"{file}: this is not a journal of tune, or it is damaged") from error


def namespace() -> str:
    """The network namespace of this process."""
    try:
        return str(Path("/proc/self/ns/net").readlink())
    except OSError:
        return "unknown"


def boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
