"""The path to tune for: from the user's options, or from a report of the doctor."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bentpipe.errors import TuneError, clause
from bentpipe.words.faults import did_you_mean

Role = Literal["sender", "receiver", "both"]
_ENDS: tuple[Role, ...] = ("sender", "receiver")
_INFERRED = ("bursts", "start")
"""What of `rate_from` in a report is inferred from a socket's samples."""
_FILE_BYTES = 64 << 20
_LISTED = 8
"""So many transfers a message names."""


@dataclass(frozen=True)
class Prediction:
    """What a change would give, by the doctor's simulation."""

    goodput_bit_s: float
    low_bit_s: float
    high_bit_s: float | None
    value: Any
    """The setting's value that was simulated."""


@dataclass(frozen=True)
class TunedPath:
    """A path, what this host does on it, and what limited it."""

    here: Role
    rate_bit_s: float | None = None
    rtt_s: float | None = None
    loss: float | None = None
    source: str = ""
    transfer: str = ""
    goodput_bit_s: float | None = None
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Findings by kind, the costliest first."""
    inferred_bit_s: float | None = None
    """The rate of a path that was never full, as the doctor infers it from a socket's samples. It does not
    size buffers: what was simulated is tried first."""
    predictions: Mapping[str, Prediction] = field(default_factory=dict)
    """By "sender.tcp_wmem", "receiver.tcp_rmem", "sender.initcwnd", "congestion_control"."""

    @property
    def bdp_bytes(self) -> float | None:
        if self.rate_bit_s is None or self.rtt_s is None:
            return None
        return self.rate_bit_s * self.rtt_s / 8

    @property
    def receives(self) -> bool:
        return self.here != "sender"

    @property
    def sends(self) -> bool:
        return self.here != "receiver"


def from_report(file: Path, transfer: str | None, here: Role | None, source: str = "") -> TunedPath:
    """The path of a transfer in `bentpipe doctor --json`'s output. Default: the transfer with most bytes.

    Raises TuneError where the file is not such a report.
    """
    report = _read(file)
    try:
        found = _chosen(report["transfers"], transfer, file)
        path = found.get("path") or report.get("path") or {}
        end = here or (found["seen_from"] if found["seen_from"] in _ENDS else None)
        if end is None:
            raise TuneError(
                f"{file}: the capture was taken between the ends; say which end this host is: "
                "--here sender or --here receiver"
            )
        rate = _positive(path.get("rate_mbit_s"), 1e6)
        is_inferred = path.get("rate_from") in _INFERRED
        return TunedPath(
            end,
            None if is_inferred else rate,
            _positive(path.get("rtt_s")),
            None if path.get("loss") is None else float(path["loss"]),
            source or str(file),
            str(found["name"]),
            _positive(found.get("goodput_mbit_s"), 1e6),
            {
                str(each["kind"]): {"share": float(each["share"]), "because": str(each["because"])}
                for each in found["findings"]
            },
            rate if is_inferred else None,
            _predictions(found),
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise TuneError(f"{file}: this is not a report of `bentpipe doctor --json`") from error


def _positive(value: Any, factor: float = 1.0) -> float | None:
    """A figure of the report in basic units; None where it is unknown or zero."""
    figure = float(value or 0) * factor
    if not 0 <= figure < math.inf:
        raise ValueError(value)
    return figure or None


def _read(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as stream:
            text = stream.read(_FILE_BYTES)
    except OSError as error:
        raise TuneError(f"{file}: {error.strerror}") from error
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.startswith(b"{") and line.endswith(b"}") for line in lines):
        raise TuneError(
            f"{file}: found reports of {len(lines)} runs; expected one: give the doctor the folder of one run"
        )
    try:
        report = json.loads(lines[0])
    except (LookupError, ValueError):
        report = None
    if isinstance(report, dict):
        return report
    raise TuneError(f"{file}: this is not a report of `bentpipe doctor --json`")


def _chosen(transfers: Any, name: str | None, file: Path) -> Mapping[str, Any]:
    chosen = [each for each in transfers if name in (None, each["name"])]
    if not chosen:
        names = [str(each["name"]) for each in transfers]
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        known = (
            f"{did_you_mean(name or '', names)}Transfers here: {', '.join(names[:_LISTED]) or 'none'}{more}"
        )
        raise TuneError(f"{file}: found no transfer {name or ''}".rstrip() + f"; {clause(known)}")
    found: Mapping[str, Any] = max(chosen, key=lambda each: each.get("bytes") or 0)
    return found


def _predictions(transfer: Mapping[str, Any]) -> dict[str, Prediction]:
    """By setting. The lab's `client` and `server` are named by what they do.

    A change of one setting goes before one of several, of which the setting is only a part.
    """
    sender = "client" if transfer.get("direction") == "up" else "server"
    found: dict[str, Prediction] = {}
    for cure in sorted(transfer.get("cures") or (), key=lambda each: len(each["change"])):
        low, high = cure["interval"]
        for key, value in cure["change"].items():
            host, _, name = key.partition(".")
            if host != "host":
                name = f"{'sender' if host == sender else 'receiver'}.{name}"
            told = Prediction(
                float(cure["goodput_mbit_s"]) * 1e6,
                float(low) * 1e6,
                None if high is None else float(high) * 1e6,
                value,
            )
            found.setdefault(name, told)
    return found
