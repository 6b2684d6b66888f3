"""The host process of a live run: `python -m bentpipe.engines.live_host FD`.

A fresh interpreter with one thread, because a process with several may not enter a user namespace. All the
rest is in Rust (crates/live); the protocol on the descriptor is documented in docs/live.md.
"""

import sys

from bentpipe import _core


def main() -> int:
    return _core.live_host(int(sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
