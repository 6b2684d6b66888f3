"""Reading captures (crates/python/src/capture.rs, crates/capture)."""

from collections.abc import Callable
from pathlib import Path

class CaptureReading:
    """What a capture held: facts of all connections, and samples and events of each flow."""

    @property
    def cut_off(self) -> str | None:
        """Where the file is cut off. None: it is whole."""

    def facts(self) -> str:
        """`CaptureFacts` (crates/capture/src/report.rs), as JSON."""

    def samples(self, connection: int, side: int) -> dict[str, list[float | int | str | None]]:
        """Columns of `bentpipe.doctor.evidence.SAMPLES`, and `short_segments`: a counter of segments that
        were not full. Raises `IndexError` if there is no such flow."""

    def events(self, connection: int, side: int) -> dict[str, list[float | int | str | None]]:
        """Columns of `bentpipe.doctor.evidence.EVENTS`. Raises `IndexError` if there is no such flow."""

def read_capture(file: Path, on_progress: Callable[[int], None] | None = None) -> CaptureReading:
    """Reads a pcap or pcapng file in one pass. `on_progress` is told the bytes read. Raises `OSError` if the
    file cannot be read and `ValueError` if it is no capture or is damaged."""
