"""A path's rate with its interval, whatever told it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ToldRate:
    """In bit/s; whether of payload or of IP bytes says who tells it."""

    usual: float
    low: float
    high: float

    def times(self, scale: float) -> "ToldRate":
        return ToldRate(self.usual * scale, self.low * scale, self.high * scale)
