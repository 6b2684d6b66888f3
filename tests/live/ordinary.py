"""`bentpipe` as an ordinary user, for tests that root runs: the same interpreter and package, user nobody.

Everything happens in a mount namespace of the command's own: a /dev/net/tun that is open to all, as udev
makes it, and a way to an interpreter or a checkout that lies where only root may look.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import bentpipe
from waiting import LONG_S

NOBODY = 65534

_AS_NOBODY = """
set -e
if ! [ "$(stat -c %a /dev/net/tun)" = 666 ]; then
  mkdir -p "$SCRATCH/dev"
  mount -t tmpfs tmpfs "$SCRATCH/dev"
  mknod -m 666 "$SCRATCH/dev/tun" c 10 200
  mount --bind "$SCRATCH/dev/tun" /dev/net/tun
fi
for closed in $CLOSED; do
  number=0
  for needed in $NEEDED; do
    case $needed in "$closed"/*) ;; *) continue ;; esac
    number=$((number + 1))
    mkdir -p "$SCRATCH/$number"
    mount --bind "$needed" "$SCRATCH/$number"
  done
  mount -t tmpfs -o mode=755 tmpfs "$closed"
  number=0
  for needed in $NEEDED; do
    case $needed in "$closed"/*) ;; *) continue ;; esac
    number=$((number + 1))
    mkdir -p "$needed"
    mount --bind "$SCRATCH/$number" "$needed"
  done
done
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
"""


def bentpipe_as_nobody(
    arguments: Sequence[str], folder: Path, scratch: Path
) -> subprocess.CompletedProcess[str]:
    """`folder` is where it runs, and must be nobody's; `scratch` holds mounts that nobody else sees."""
    needed = {Path(sys.base_prefix), Path(sys.prefix), Path(bentpipe.__file__).parent.parent, folder}
    closed = {ancestor for path in needed if (ancestor := _closed_ancestor(path))}
    environment = os.environ | {
        "SCRATCH": str(scratch),
        "NEEDED": " ".join(map(str, sorted(needed))),
        "CLOSED": " ".join(map(str, sorted(closed))),
        "HOME": str(folder),
    }
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", _AS_NOBODY, "sh", sys.executable, "-m", "bentpipe", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )


def _closed_ancestor(path: Path) -> Path | None:
    """The topmost folder on the way that others may not pass."""
    return next((each for each in reversed(path.parents) if not each.stat().st_mode & 0o001), None)
