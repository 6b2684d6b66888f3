"""What a family of causes says of a transfer, and what the diagnosis makes of all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats
from bentpipe.doctor.view import View

KINDS = (
    "receiver-window",
    "receiver-application",
    "send-buffer",
    "sender-application",
    "slow-start",
    "random-loss",
    "short-queue",
    "policer",
    "capacity",
    "bufferbloat",
    "reordering",
    "line-drops",
    "pacing",
    "ack-path",
    "timeouts",
    "outage",
    "mtu",
    "tcp-options",
    "cpu",
    "split",
    "unknown",
)


@dataclass(frozen=True)
class Claim:
    """A cause, and the samples in which it would explain what was sent."""

    kind: str
    holds: Flags
    """For each sample of the view."""
    certainty: float
    """0 to 1: the share of these samples in which a second, independent test says the same; each family says
    which."""
    because: str
    """One plain sentence, without a full stop."""
    evidence: Mapping[str, Any]
    """Figures with their units in their names."""
    formula: str
    otherwise: str
    """What would have shown that it is not so."""
    beside: bool = False
    """It stands beside other causes and takes no samples from them."""


class Family(Protocol):
    """A family of causes. It claims nothing where the evidence does not show it, or cannot."""

    def __call__(self, view: View) -> list[Claim]: ...


@dataclass(frozen=True)
class Finding:
    """A cause with its share of a transfer's time."""

    kind: str
    share: float
    """Of the time between the first and the last payload."""
    certainty: float
    because: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    formula: str = ""
    otherwise: str = ""
    lost_share: float | None = None
    """What was not carried in this finding's time, of all that the path could have carried. None: the path's
    rate is not known."""


def share_of(holds: Flags, where: Flags, weights: Floats) -> float:
    """The share of the time of `where` in which `holds` is true too; 0 of no time."""
    whole = float(weights[where].sum())
    return float(weights[where & holds].sum()) / whole if whole > 0 else 0.0


def known(value: float, digits: int = 6) -> float | None:
    """For JSON. A figure that is not known is None."""
    return round(float(value), digits) if np.isfinite(value) else None
