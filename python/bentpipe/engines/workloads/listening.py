"""Whether a server at a host listens, before anyone connects: a look at the kernel's own tables there."""

import sys
from collections.abc import Iterable

from bentpipe.engines.bench import Bench, Program, Running

_PATIENCE_S = 10

# Waits in the host's namespace until the port listens, in each of the tables named.
_LISTENING = """
import sys, time
port = f":{int(sys.argv[1]):04X}"
until = time.monotonic() + float(sys.argv[2])
def listens(table):
    with open(table) as lines:
        return any(line.split()[1].endswith(port) and line.split()[3] == "0A" for line in lines)
while time.monotonic() < until:
    if all(listens(table) for table in sys.argv[3:]):
        sys.exit(0)
    time.sleep(0.005)
sys.exit(1)
"""
_TABLES = {4: "/proc/net/tcp", 6: "/proc/net/tcp6"}


async def ended_before(bench: Bench, host: str, port: int, ips: Iterable[int], serving: Running) -> bool:
    """Wait until `port` listens at `host` for each of `ips`. True: it does not, or `serving` is over."""
    tables = [_TABLES[ip] for ip in ips]
    argv = [sys.executable, "-I", "-S", "-c", _LISTENING, str(port), str(_PATIENCE_S), *tables]
    probing = bench.start(host, argv, preparation=True)
    await probing.over_first(serving)
    probe: Program = await probing.over(bench.now_s, cut=False)
    return serving.has_ended or probe.fault is not None
