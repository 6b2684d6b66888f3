"""A real nginx at a host, with a configuration made for the run in a folder of the run's own.

Source: nginx 1.22's documentation of its core, log and proxy modules; experiments with Debian's
nginx-light.
1. No file of the system is written: process id, logs and temporary files lie in the folder, and so do the
   files served. These are sparse, one per size; which object of that size is meant only the URL says,
   /WORKLOAD/OBJECT/SIZE?NUMBER, so that a cache sees different objects.
2. `sendfile` and `tcp_nopush` are on, as in Debian's own configuration. Connections are kept for any number
   of requests, and a peer may be silent for an hour: nginx's own limits (1000 requests, 60 s) are for other
   paths.
3. The server thinks in nginx itself, by the echo module that nginx-light comes with.
4. An upload is passed on as it comes to a process behind nginx that reads it to its end, thinks, and
   answers: nginx alone would answer at once or fill the disk.
5. nginx takes a request for over when the kernel has its last byte, not when that has arrived. So only what
   the client cannot know is taken from its log: when a request came in, and what an upload that was cut had
   brought.
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
from bentpipe.engines.workloads import listening

_ECHO = "ngx_http_echo_module.so"
_STOPS_S = 5.0

_HTTP = """
daemon off;
user root;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
{modules}
events {{ worker_connections 4096; }}
http {{
    log_format bentpipe escape=json
        '{{"ended_unix_s":$msec,"request_s":$request_time,"peer":"$remote_addr","port":$remote_port,'
        '"connection":$connection,"nth":$connection_requests,"request":"$request","range":"$http_range",'
        '"status":$status,"sent_bytes":$bytes_sent,"body_bytes":$body_bytes_sent,'
        '"request_bytes":$request_length,"cache":"$upstream_cache_status"}}';
    access_log access.log bentpipe;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    client_body_timeout 1h;
    send_timeout 1h;
    client_max_body_size 0;
    client_body_temp_path temporary/body;
    proxy_temp_path temporary/proxy;
    fastcgi_temp_path temporary/fastcgi;
    uwsgi_temp_path temporary/uwsgi;
    scgi_temp_path temporary/scgi;
{server}
}}
"""
_SERVER = """
    server {{
        {listen}
        location ~ "^/[^/]+/[0-9]+/(?<size>[0-9]+)$" {{
            {answer}
        }}
        location @file {{
            root files;
            try_files /$size =404;
        }}
        location @sink {{
            proxy_pass http://unix:sink;
            proxy_http_version 1.1;
            proxy_request_buffering off;
            proxy_read_timeout 1h;
            proxy_send_timeout 1h;
        }}
    }}
"""

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


@dataclass(frozen=True)
class Served:
    """A line of the access log."""

    number: int
    """The fetch that the URL names."""
    peer: str
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
    cache: str
    """HIT, MISS and other words of nginx; empty: no cache."""


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
                peer=said["peer"],
                port=said["port"],
                begun_unix_s=said["ended_unix_s"] - said["request_s"],
                ended_unix_s=said["ended_unix_s"],
                range=said["range"],
                status=said["status"],
                header_bytes=said["sent_bytes"] - said["body_bytes"],
                body_bytes=said["body_bytes"],
                request_bytes=said["request_bytes"],
                cache=said["cache"],
            )
        )
    return found


def can_think() -> bool:
    return _echo_module() is not None


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


def configuration(
    *, addresses: Iterable[str], port: int, upload: bool, think_s: float, echo_module: Path | None
) -> str:
    listen = " ".join(f"listen {f'[{each}]' if ':' in each else each}:{port};" for each in addresses)
    thinks = think_s > 0 and not upload
    if thinks:
        answer = f"echo_sleep {think_s:.3f}; echo_exec @file;"
    else:
        answer = f"try_files /nothing {'@sink' if upload else '@file'};"
    return _HTTP.format(
        modules=f"load_module {echo_module};" if thinks else "",
        server=_SERVER.format(listen=listen, answer=answer),
    )


@dataclass(frozen=True)
class Site:
    """A running nginx, and what runs behind it."""

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
        return Stopped(program, died=died, log=self._text("access.log"), errors=self._text("error.log"))

    def _text(self, name: str) -> str:
        file = self.folder / name
        return file.read_text(errors="replace") if file.exists() else ""


@dataclass(frozen=True)
class Stopped:
    program: Program
    died: bool
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


async def start(
    bench: Bench, host: str, name: str, *, sizes: Iterable[int], upload: bool, think_s: float
) -> Site | str:
    """Start nginx for the workload `name` at `host` and see it listen; or say why it does not."""
    port, addresses = bench.port(), bench.addresses(host)
    folder = bench.folder(f"{name}-nginx")
    (folder / "temporary").mkdir()
    (folder / "files").mkdir()
    text = configuration(
        addresses=addresses.values(),
        port=port,
        upload=upload,
        think_s=think_s,
        echo_module=_echo_module() if think_s else None,
    )
    (folder / "nginx.conf").write_text(text)
    try:
        for size in set(sizes):
            with (folder / "files" / str(size)).open("wb") as file:
                file.truncate(size)
    except OSError as error:
        return f"a file of {size} bytes could not be made: {error}"
    sink = None
    if upload:
        sink = bench.start(host, [sys.executable, "-I", "-c", _SINK, "sink", f"{think_s:g}"], cwd=folder)
    argv = ["nginx", "-p", "./", "-c", "nginx.conf", "-e", "error.log"]
    serving = bench.start(host, argv, env=machine.with_system_programs(), cwd=folder)
    site = Site(folder, port, bench, serving, sink)
    if not await listening.ended_before(bench, host, port, addresses, serving):
        return site
    stopped = await site.stop()
    return stopped.fault or f"nginx did not begin to listen: {stopped.errors.strip()[-500:]}"
