"""The cells of the comparison (grid.toml), and what each sets in the lab (cell.toml)."""

import itertools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LAB = HERE / "cell.toml"


@dataclass(frozen=True)
class Cell:
    """One path and one transfer over it."""

    about: str
    rate_mbit_s: float
    rtt_ms: float
    queue_bdp: float
    loss: float
    jitter_ms: float
    congestion_control: str
    buffers: str
    sack: bool
    streams: int
    link: str
    """What lies around the path."""
    link_settings: tuple[str, ...]
    seconds: int
    rmem_max: int
    wmem_max: int

    @property
    def name(self) -> str:
        words = [
            self.congestion_control,
            f"{self.rate_mbit_s:g}M",
            f"{self.rtt_ms:g}ms",
            f"{self.queue_bdp:g}bdp",
            f"loss{self.loss:g}" if self.loss else "",
            f"reorder{self.jitter_ms:g}ms" if self.jitter_ms else "",
            f"{self.buffers}-buffers" if self.buffers != "default" else "",
            "" if self.sack else "nosack",
            f"{self.streams}streams" if self.streams > 1 else "",
            self.link if self.link != "plain" else "",
        ]
        return "_".join(word for word in words if word)

    @property
    def by_chance(self) -> bool:
        """Whether the path draws, so that a run depends on its seed."""
        return self.loss > 0 or self.jitter_ms > 0

    @property
    def settings(self) -> list[str]:
        """As `bentpipe run --set` takes them."""
        jitter = f"{{ spread = '{self.jitter_ms:g} ms', reorder = true }}"
        return [
            *([f"path.jitter={jitter}"] if self.jitter_ms else []),
            f"path.rate={self.rate_mbit_s:g} Mbit/s",
            f"path.rtt={self.rtt_ms:g} ms",
            f"path.queue={self.queue_bdp:g} bdp",
            f"path.down.loss={self.loss:f}",
            f"host.congestion_control={self.congestion_control}",
            f"host.sack={str(self.sack).lower()}",
            f"host.tcp_rmem=[4096, 131072, {self.rmem_max}]",
            f"host.tcp_wmem=[4096, 16384, {self.wmem_max}]",
            f"workload.download.streams={self.streams}",
            f"workload.download.time={self.seconds} s",
            *self.link_settings,
        ]


def cells() -> list[Cell]:
    """Every cell once, in the grid's order."""
    grid = tomllib.loads((HERE / "grid.toml").read_text(encoding="utf-8"))
    found: dict[str, Cell] = {}
    for table in grid["grid"]:
        axes = {key: values for key, values in table.items() if key != "about"}
        for values in itertools.product(*axes.values()):
            cell = _cell(grid, table["about"], dict(zip(axes, values, strict=True)))
            found.setdefault(cell.name, cell)
    return list(found.values())


def _cell(grid: dict[str, Any], about: str, values: dict[str, Any]) -> Cell:
    settings = grid["base"] | values
    rmem_max, wmem_max = grid["buffers"][settings["buffers"]]
    seconds = max(grid["seconds_at_least"], round(grid["round_trips"] * settings["rtt_ms"] / 1000))
    return Cell(
        about=about,
        link_settings=tuple(grid["links"][settings["link"]]),
        seconds=seconds,
        rmem_max=rmem_max,
        wmem_max=wmem_max,
        **settings,
    )


def reasons() -> dict[str, str]:
    """Pattern of a cell's name -> why it differs."""
    return tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
