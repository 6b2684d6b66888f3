"""rich's console, with the text of files made safe to show."""

import io
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from bentpipe.words.printable import printable_lines

_WIDTH = 110


class SafeConsole(Console):
    """Prints no control character but its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Any:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)


def as_text(shown: RenderableType) -> str:
    """As on a terminal, without colours."""
    text = io.StringIO()
    # In a notebook rich would show it there and then, instead of writing it.
    console = SafeConsole(file=text, width=_WIDTH, highlight=False, force_terminal=False, force_jupyter=False)
    console.print(shown)
    return text.getvalue().strip("\n")
