"""rich's console, with the text of files made safe to show."""

from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from bentpipe.printable import printable_lines


class SafeConsole(Console):
    """Prints no control character but its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Any:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)
