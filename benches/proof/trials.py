"""The trials: each has bytes cross the gateways by a program or a protocol, and compares hashes."""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts import HERE, SERVER, SERVER6, WrongError, wait_for
from refusals import destinations, rebinding
from world import NEAR, SOCKS_PORT, Settings, World

PLAIN = Settings()
SOCKS = f"{NEAR}:{SOCKS_PORT}"
BY_SOCKS = ("--proxy", f"socks5h://{SOCKS}")


class SkippedError(Exception):
    """A trial cannot be done here. The text says why."""


@dataclass(frozen=True)
class Trial:
    what: str
    do: Callable[[World, float], int]
    """Returns the bytes that crossed. The number says how much of the whole size to try."""
    settings: Settings = PLAIN
    short: bool = False
    """It is part of the short subset, too."""


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def same(one: Path, other: Path) -> int:
    """The size of two files that are equal."""
    if not other.exists() or _hash(one) != _hash(other):
        size = other.stat().st_size if other.exists() else None
        raise WrongError(f"{one.name}: {one.stat().st_size} bytes were sent, others arrived ({size} bytes)")
    return one.stat().st_size


def needed(*programs: str) -> None:
    where = os.environ["PATH"] + ":/usr/sbin:/sbin"
    for program in programs:
        if not shutil.which(program, path=where):
            raise SkippedError(f"there is no {program} on this machine")


def talk(world: World, *words: str, within_s: float = 120) -> int:
    said = world.python("client", *words, within_s=within_s)
    if said["wrong"]:
        raise WrongError(said["wrong"])
    return int(said["bytes"])


def file_of(world: World, name: str, size: float) -> Path:
    path = world.folder / name
    if not path.exists() or path.stat().st_size != int(size):
        path.write_bytes(os.urandom(int(size)))
    return path


# --- HTTP

NGINX = """
user root; daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_max_body_size 1g; client_body_temp_path {folder}/body; proxy_temp_path {folder}/t1;
  fastcgi_temp_path {folder}/t2; uwsgi_temp_path {folder}/t3; scgi_temp_path {folder}/t4;
  server {{
    listen 80; listen [::]:80; listen 443 ssl http2; listen [::]:443 ssl http2;
    ssl_certificate {folder}/tls.crt; ssl_certificate_key {folder}/tls.key;
    root {folder}/www; location /up/ {{ dav_methods PUT; }}
  }}
}}
"""


def nginx(world: World) -> None:
    """It runs until the world ends."""
    needed("nginx", "curl", "openssl")
    if (world.folder / "nginx.pid").exists():
        return
    (world.folder / "www/up").mkdir(parents=True, exist_ok=True)
    (world.folder / "nginx.conf").write_text(NGINX.format(folder=world.folder))
    subject = ["-subj", "/CN=server", "-days", "2", "-keyout", "tls.key", "-out", "tls.crt"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    world.do("server", "openssl", "req", "-x509", *key, *subject)
    world.begin(
        "server", "nginx.out", shutil.which("nginx") or "/usr/sbin/nginx", "-c", world.folder / "nginx.conf"
    )
    wait_for("nginx", (world.folder / "nginx.pid").exists)
    listens = f"curl -s -o /dev/null http://{SERVER}/"
    wait_for(
        "nginx listens",
        lambda: not subprocess.run(world.inside("server", *listens.split()), check=False).returncode,
    )


def _curl(world: World, *words: str | Path) -> str:
    return world.do("client", "curl", "-sSfk", "--max-time", "200", *words, within_s=220)


def http1(world: World, share: float, host: str = SERVER, *how: str) -> int:
    """Down and up."""
    nginx(world)
    page = file_of(world, "www/page", 8e6 * share)
    got = world.folder / "got"
    got.unlink(missing_ok=True)
    version = _curl(world, "--http1.1", *how, "-o", got, "-w", "%{http_version}", f"http://{host}/page")
    if version != "1.1":
        raise WrongError(f"HTTP/{version} was spoken")
    crossed = same(page, got)
    up = world.folder / "www/up/page"
    up.unlink(missing_ok=True)
    _curl(world, *how, "-T", page, f"http://{host}/up/page")
    return crossed + same(page, up)


def http1_by_socks(world: World, share: float) -> int:
    return http1(world, share, SERVER, *BY_SOCKS)


def ipv6(world: World, share: float) -> int:
    return http1(world, share, f"[{SERVER6}]")


def http2(world: World, share: float, *how: str) -> int:
    """Twelve at once over one connection."""
    nginx(world)
    files = [file_of(world, f"www/part{number}", share * 1e5 * (number + 1)) for number in range(12)]
    wanted: list[str | Path] = []
    for file in files:
        (world.folder / f"got-{file.name}").unlink(missing_ok=True)
        wanted += ["-o", world.folder / f"got-{file.name}", f"https://{SERVER}/{file.name}"]
    said = _curl(world, "--http2", *how, "-Z", "-w", "%{http_version} %{num_connects}\n", *wanted).split("\n")
    told = [line.split() for line in said if line]
    if any(version != "2" for version, _ in told):
        raise WrongError(f"not HTTP/2: {told}")
    return sum(same(file, world.folder / f"got-{file.name}") for file in files)


def http2_by_socks(world: World, share: float) -> int:
    return http2(world, share, *BY_SOCKS)


# --- SSH

SSHD = """
Port 22
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile {folder}/sshd.pid
StrictModes no
UsePAM no
PermitRootLogin yes
Subsystem sftp internal-sftp
"""


def sshd(world: World) -> list[str]:
    """The options with which ssh and scp reach it."""
    needed("sshd", "ssh", "scp", "ssh-keygen")
    if Path("/proc/self/uid_map").read_text().split()[2] != "4294967295":
        raise SkippedError("sshd needs root, not only root of a user namespace")
    folder = world.folder
    if not (folder / "sshd.pid").exists():
        for name in ("host_key", "user_key"):
            world.do("server", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
        (folder / "sshd_config").write_text(SSHD.format(folder=folder))
        Path("/run/sshd").mkdir(exist_ok=True)
        world.begin(
            "server",
            "sshd.log",
            shutil.which("sshd") or "/usr/sbin/sshd",
            "-D",
            "-e",
            "-f",
            folder / "sshd_config",
        )
        wait_for("sshd", (folder / "sshd.pid").exists)
    options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "BatchMode=yes"]
    return [
        "-F",
        "/dev/null",
        "-i",
        str(folder / "user_key"),
        *(word for it in options for word in ("-o", it)),
    ]


def scp(world: World, share: float) -> int:
    how = sshd(world)
    sent = file_of(world, "sent", 6e6 * share)
    (there, back) = (world.folder / "there", world.folder / "back")
    for path in (there, back):
        path.unlink(missing_ok=True)
    world.do("client", "scp", *how, sent, f"root@{SERVER}:{there}")
    crossed = same(sent, there)
    world.do("client", "scp", *how, f"root@{SERVER}:{there}", back)
    return crossed + same(sent, back)


def rsync(world: World, share: float) -> int:
    """A folder of files there; then again, after one of them has changed in the middle."""
    needed("rsync")
    how = " ".join(["ssh", *sshd(world)])
    folder, there = world.folder / "tree", world.folder / "tree-there"
    (folder / "deep").mkdir(parents=True, exist_ok=True)
    for number in range(20):
        name = f"{'deep/' if number % 2 else ''}file{number}"
        file_of(world, f"tree/{name}", share * 2e4 * (number + 1))

    def bring() -> int:
        world.do("client", "rsync", "-a", "--delete", "-e", how, f"{folder}/", f"root@{SERVER}:{there}/")
        files = [path for path in folder.rglob("*") if path.is_file()]
        return sum(same(path, there / path.relative_to(folder)) for path in files)

    crossed = bring()
    changed = bytearray((folder / "file18").read_bytes())
    middle = len(changed) // 2
    changed[middle : middle + 5] = b"other"
    (folder / "file18").write_bytes(changed)
    os.utime(folder / "file18", (1, 1))
    bring()
    return crossed


# --- other protocols


def web_socket(world: World, share: float) -> int:
    return talk(world, "web-socket", SERVER, str(int(48 * share) + 8))


def half_close(world: World, share: float) -> int:
    return talk(world, "half-close", SERVER, str(int(2e6 * share)))


def dns(world: World, share: float) -> int:
    return talk(world, "dns", SOCKS, SERVER, str(int(200 * share)))


def dns_by_tproxy(world: World, share: float) -> int:
    return talk(world, "dns", "-", SERVER, str(int(200 * share)))


def short_connections(world: World, share: float) -> int:
    return talk(world, "short-connections", SERVER, str(int(10_000 * share)), "100", within_s=300)


# --- what happens to the path in the middle of a connection


class Conversation:
    """One connection that has bytes echoed."""

    def __init__(self, world: World) -> None:
        command = world.inside("client", sys.executable, HERE / "talk.py", "conversation", SERVER)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.crossed = 0

    def exchange(self, length: float, within_s: float = 60) -> None:
        assert self.process.stdin and self.process.stdout
        watch = threading.Timer(within_s, self.process.kill)
        watch.start()
        self.process.stdin.write(f"{int(length)}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        watch.cancel()
        if said != "right":
            raise WrongError(said or f"{int(length)} bytes were not echoed within {within_s:g} s")
        self.crossed += 2 * int(length)

    def end(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)
        return self.crossed


def _carrier(world: World) -> Any:
    return world.status("near").get("carrier")


def udp_blocked(world: World, share: float) -> int:
    """UDP is dropped for a while. The connection goes on over TLS, and over QUIC when UDP is open again."""
    needed("nft")
    sessions = world.status("near")["sessions"]
    talk_on = Conversation(world)
    try:
        talk_on.exchange(1e6 * share)
        if _carrier(world) != "quic":
            raise WrongError(f"the session went over {_carrier(world)} at first")
        with world.no_udp():
            talk_on.exchange(1e6 * share)
            if _carrier(world) != "tls over tcp":
                raise WrongError(f"without UDP the session goes over {_carrier(world)}")
        wait_for("QUIC is used again", lambda: _carrier(world) == "quic")
        talk_on.exchange(1e6 * share)
        if world.status("near")["sessions"] != sessions:
            raise WrongError("the session did not go on")
        return talk_on.end()
    finally:
        talk_on.process.kill()


def black_hole(world: World, share: float) -> int:
    """Packets of more than 1300 bytes vanish for a while, without ICMP."""
    talk_on = Conversation(world)
    try:
        talk_on.exchange(1e6 * share)
        world.longest(1300)
        try:
            talk_on.exchange(1e6 * share)
        finally:
            world.longest(65536)
        wait_for("QUIC is used again", lambda: _carrier(world) == "quic")
        talk_on.exchange(1e6 * share)
        return talk_on.end()
    finally:
        talk_on.process.kill()


TRIALS = [
    Trial("HTTP/1.1, curl and nginx, by TPROXY", http1, short=True),
    Trial("HTTP/1.1, by SOCKS5", http1_by_socks, short=True),
    Trial("HTTP/2 over TLS, 12 at once, by TPROXY", http2, short=True),
    Trial("HTTP/2 over TLS, by SOCKS5", http2_by_socks),
    Trial("SSH: scp there and back", scp),
    Trial("SSH: rsync, and again after a change", rsync),
    Trial("WebSocket", web_socket, short=True),
    Trial("half-close: client first, server first", half_close, short=True),
    Trial("DNS over UDP, by SOCKS5", dns, short=True),
    Trial("DNS over UDP, by TPROXY", dns_by_tproxy, short=True),
    Trial("short connections, 100 at once", short_connections, short=True),
    Trial("hosts with IPv6", ipv6, short=True),
    Trial("destinations that far refuses", destinations, short=True),
    Trial("names that change to private addresses", rebinding, short=True),
    Trial("UDP blocked for a while", udp_blocked),
    Trial("gateways that join by IPv6", http1, Settings(over_ipv6=True)),
    Trial("path of MTU 1280", http1, Settings(mtu=1280)),
    Trial("path of MTU 1280, gateways by IPv6", http1, Settings(mtu=1280, over_ipv6=True)),
    Trial("path of MTU 1500, UDP payload 1472", http1, Settings(udp_payload=1472)),
    Trial("path of MTU 9000, UDP payload 8972", http1, Settings(mtu=9000, udp_payload=8972)),
    Trial("black hole: MTU shrinks to 1300 in the middle", black_hole, Settings(udp_payload=1472)),
]
