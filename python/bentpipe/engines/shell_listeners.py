"""Servers at the other end of a shell's path: an iperf3 server, and a web server with files to fetch."""

from collections.abc import Sequence
from typing import Literal

from bentpipe.engines import machine
from bentpipe.engines.bench import Bench
from bentpipe.engines.programs import refuse_missing
from bentpipe.engines.workloads import listening, nginx_conf
from bentpipe.errors import EngineError

Listener = Literal["iperf3", "http"]
_PROGRAMS: dict[Listener, str] = {"iperf3": "iperf3", "http": "nginx"}
_FILES = {"1MB": 10**6, "10MB": 10**7, "100MB": 10**8, "1GB": 10**9, "10GB": 10**10}


def chosen(asked: Sequence[Listener] | None) -> list[Listener]:
    """Those that were asked for, or EngineError if a program is missing; by default all that can run."""
    if asked is None:
        return [name for name, program in _PROGRAMS.items() if machine.program(program)]
    refuse_missing({_PROGRAMS[name]: f"needed by --listen {name}" for name in asked})
    return list(dict.fromkeys(asked))


async def start(name: Listener, host: str, bench: Bench) -> str:
    """Start one at `host`; when it listens, what to type to use it."""
    ips = [6] if 6 in bench.addresses(host) else [4]
    if name == "iperf3":
        port = 5201
        running = bench.start(host, ["iperf3", "-s"])
        use = f"iperf3 -c {host}"
    else:
        port = 80
        ips = list(bench.addresses(host))
        folder = bench.folder("http")
        (folder / "files").mkdir()
        (folder / "temporary").mkdir()
        for file, size in _FILES.items():
            with (folder / "files" / file).open("wb") as made:
                made.truncate(size)
        (folder / "nginx.conf").write_text(nginx_conf.files(bench.addresses(host).values(), port))
        argv = ["nginx", "-p", "./", "-c", "nginx.conf", "-e", "error.log"]
        running = bench.start(host, argv, env=machine.with_system_programs(), cwd=folder)
        use = f"curl -o /dev/null http://{host}/10MB (also 1MB 100MB 1GB 10GB)"
    if await listening.ended_before(bench, host, port, ips, running):
        over = await running.over(bench.now_s, cut=False)
        raise EngineError(f"the {name} server at {host} did not start: {over.fault}", what=name)
    return use
