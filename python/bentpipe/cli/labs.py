"""`bentpipe labs`."""

from bentpipe.cli.saying import say, tell
from bentpipe.lab.shipped import catalogue


def labs() -> None:
    """List the labs that come with bentpipe."""
    for name, title in catalogue():
        tell(f"{name:24} {title}")
    say("Run one in virtual time: bentpipe run NAME")
