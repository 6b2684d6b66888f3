"""A real nginx at a host, in a folder of the run's own: no file of the system is written.

1. The files served are sparse.
2. nginx takes a request for over when the kernel has its last byte, not when that has arrived. So only what
   the client cannot know is taken from its log: when a request came in, what an upload that was cut had
   brought, whether a cache had it.
3. It runs as the root of its namespace. Where that is an ordinary user's, nginx logs that `initgroups`
   failed, and goes on.
"""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bentpipe.engines import machine
from bentpipe.engines.bench import Bench, Program, Running
from bentpipe.engines.workloads import listening, nginx_conf

_ECHO = "ngx_http_echo_module.so"
_STOPS_S = 3.0

# Reads each upload to its end, then thinks, then answers. Arguments: its socket, seconds to think.
_SINK = """
import sys, time
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingMixIn, UnixStreamServer
class Upload(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self):
        return "nginx"
    def log_request(self, code="-", size="-"):
        pass
    def do_PUT(self):
        left = int(self.headers["Content-Length"])
        while left and (read := self.rfile.read1(min(left, 1 << 20))):
            left -= len(read)
        time.sleep(float(sys.argv[2]))
        self.send_response(204)
        self.end_headers()
class Sink(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    request_queue_size = 1024
Sink(sys.argv[1], Upload).serve_forever()
"""


# nginx has other words too (EXPIRED, STALE, ..), for what it does not hold as it is wanted.
_CACHED = {"": None, "HIT": "hit"}


@dataclass(frozen=True)
class Served:
    """A line of the access log."""

    number: int
    """The fetch that the URL names."""
    port: int
    begun_unix_s: float
    """When the request's first byte was read."""
    ended_unix_s: float
    range: str
    status: int
    header_bytes: int
    body_bytes: int
    request_bytes: int
    """Of the request, its header and body as far as they were read."""
    cache: str | None
    """`hit` or `miss`; None: no cache."""


def served(log: str) -> list[Served]:
    """Reads an access log; a line cut short by a kill is left out."""
    found = []
    for line in log.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        target = re.match(r"\S+ \S+\?(\d+)", said["request"])
        if not target:
            continue
        found.append(
            Served(
                number=int(target[1]),
                port=said["port"],
                begun_unix_s=said["ended_unix_s"] - said["request_s"],
                ended_unix_s=said["ended_unix_s"],
                range=said["range"],
                status=said["status"],
                header_bytes=said["sent_bytes"] - said["body_bytes"],
                body_bytes=said["body_bytes"],
                request_bytes=said["request_bytes"],
                cache=_CACHED.get(said["cache"], "miss"),
            )
        )
    return found


def can_think() -> bool:
    """Whether nginx has the module by which it waits. True without nginx, which is then what is missing."""
    return _echo_module() is not None or machine.program("nginx") is None


@cache
def _echo_module() -> Path | None:
    """Where nginx's echo module is, if it is."""
    try:
        said = subprocess.run(
            ["nginx", "-V"],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
            env=machine.with_system_programs(),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    folder = re.search(r"--modules-path=(\S+)", said.stderr)
    module = Path(folder[1]) / _ECHO if folder else None
    return module if module and module.is_file() else None


@dataclass(frozen=True)
class Site:
    """A running nginx, and what runs behind it."""

    host: str
    folder: Path
    port: int
    _bench: Bench
    _serving: Running
    _sink: Running | None

    @property
    def has_ended(self) -> bool:
        return self._serving.has_ended

    def file(self, size_bytes: int) -> Path:
        return self.folder / "files" / str(size_bytes)

    async def stop(self) -> "Stopped":
        """Let nginx end what it is at, so that its log is whole: that a client is gone it learns late."""
        died = self._serving.has_ended
        patience_s = min(0.5 + 2 * self._bench.full_round_trip_s, _STOPS_S)
        self._serving.signal(signal.SIGQUIT)
        program = await self._serving.over(self._bench.now_s + patience_s, cut=False)
        if self._sink:
            await self._sink.over(self._bench.now_s, cut=False)
        return Stopped(
            program,
            died=died,
            configuration=self._text("nginx.conf"),
            log=self._text("access.log"),
            errors=self._text("error.log"),
        )

    def _text(self, name: str) -> str:
        file = self.folder / name
        return file.read_text(errors="replace") if file.exists() else ""


@dataclass(frozen=True)
class Stopped:
    program: Program
    died: bool
    configuration: str
    log: str
    errors: str

    @property
    def fault(self) -> str | None:
        """What ended nginx before its time; None: nothing."""
        if not self.died:
            return None
        said = (self.program.stderr or self.errors).strip()[-500:]
        why = self.program.fault or "nginx ended in mid-run"
        return why if said in why else f"{why}: {said}"


async def serve(
    bench: Bench, host: str, name: str, *, sizes: Iterable[int], upload: bool, think_s: float
) -> Site | str:
    """Start the web server of the workload `name` at `host` and see it listen; or say why it does not."""
    port, folder = bench.port(name), bench.folder(f"{name}-nginx")
    (folder / "files").mkdir()
    text = nginx_conf.server(
        addresses=bench.addresses(host).values(),
        port=port,
        upload=upload,
        think_s=think_s,
        echo_module=_echo_module() if think_s else None,
    )
    for size in set(sizes):
        try:
            with (folder / "files" / str(size)).open("wb") as file:
                file.truncate(size)
        except OSError as error:
            return f"a file of {size} bytes could not be made: {error}"
    sink = None
    if upload:
        sink = bench.start(host, [sys.executable, "-I", "-c", _SINK, "sink", f"{think_s:g}"], cwd=folder)
    return await _start(bench, host, port, folder, text, sink=sink)


async def cached(
    bench: Bench, host: str, name: str, *, origin: Site, size_bytes: int, objects: int
) -> Site | str:
    """Start a cache in front of `origin` at `host`, as `serve` does."""
    port, folder = bench.port(name) + 1, bench.folder(f"{name}-cache")
    text = nginx_conf.cache(
        addresses=bench.addresses(host).values(),
        port=port,
        origin=nginx_conf.authority(bench.address(origin.host, bench.spec.client.ip), origin.port),
        size_bytes=size_bytes,
        objects=objects,
    )
    return await _start(bench, host, port, folder, text, sink=None)


async def _start(
    bench: Bench, host: str, port: int, folder: Path, text: str, *, sink: Running | None
) -> Site | str:
    (folder / "temporary").mkdir()
    (folder / "nginx.conf").write_text(text)
    argv = ["nginx", "-p", "./", "-c", "nginx.conf", "-e", "error.log"]
    serving = bench.start(host, argv, env=machine.with_system_programs(), cwd=folder)
    site = Site(host, folder, port, bench, serving, sink)
    if not await listening.ended_before(bench, host, port, bench.addresses(host), serving):
        return site
    stopped = await site.stop()
    return stopped.fault or f"nginx did not begin to listen: {stopped.errors.strip()[-500:]}"
