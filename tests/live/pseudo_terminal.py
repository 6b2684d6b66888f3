"""A pseudo-terminal: what is typed on it, and what it shows."""

import os
import select
import time

from waiting import LONG_S


class PseudoTerminal:
    """The side of the person. Who sits on the other side is the subclass's."""

    master: int
    seen = ""
    """Shown since the text that was last waited for."""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def shows(self, text: str, seconds: float = LONG_S) -> bool:
        end = time.monotonic() + seconds
        while text not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                return False
            try:
                self.seen += os.read(self.master, 4096).decode(errors="replace")
            except OSError:  # the other side has ended
                return False
        self.seen = self.seen.partition(text)[2]
        return True
