"""The direction of payload. Labs, JSON and tables write it as a word: `down` or `up`."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Host = Literal["client", "server"]


class Direction(StrEnum):
    """Down to the client, or up to the server. A pipe is named after the direction that it carries."""

    DOWN = "down"
    UP = "up"

    @classmethod
    def parse(cls, word: object) -> Direction | None:
        """The direction that a word from a file names; None for any other word or value."""
        return next((direction for direction in cls if direction.value == word), None)

    @property
    def sender(self) -> Host:
        return "server" if self is Direction.DOWN else "client"

    @property
    def receiver(self) -> Host:
        return "client" if self is Direction.DOWN else "server"
