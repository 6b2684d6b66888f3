"""A program at the server, one at the client, and a TCP connection between them that passes near and far."""

import json
from pathlib import Path
from typing import Any

from hosting import Host

from waiting import wait_for

ADDRESSES = {4: {"client": "10.77.0.1", "server": "10.77.0.2"}, 6: {"client": "fd77::1", "server": "fd77::2"}}

COMMON = """
import json, socket, struct, sys, time
family = socket.AF_INET6 if IP == 6 else socket.AF_INET
def told(**what):
    print(json.dumps(what), flush=True)
def taken(stream):
    parts = []
    if stream is None:
        return "reset"
    try:
        while part := stream.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        return "reset"
    return b"".join(parts).decode()
def reset(stream):
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()
"""
LISTEN = (
    COMMON
    + """
listener = socket.socket(family)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((OWN, PORT))
listener.listen()
told(listens=True)
stream, peer = listener.accept()
"""
)
CONNECT = (
    COMMON
    + """
stream = socket.socket(family)
stream.settimeout(300)
try:
    stream.connect((OTHER, PORT))
except ConnectionResetError:  # after the handshake, and before this program woke
    stream = None
"""
)


def run_both(host: Host, ip: int, server: str, client: str, opener: str = "client") -> list[dict[str, Any]]:
    """What a program at the server and one at the client say of a connection between them, the server first.

    `opener`: the host that opens it; its program is `client`.
    """
    other = "server" if opener == "client" else "client"
    addresses = ADDRESSES[ip]
    said: list[Path] = []
    for where, begin, rest in ((other, LISTEN, server), (opener, CONNECT, client)):
        values = f"IP = {ip}; PORT = 5001; OWN = {addresses[where]!r}; OTHER = {addresses[other]!r}\n"
        host.spawn(f"{where} {ip}", where, ["/usr/bin/python3", "-c", values + begin + rest])
        said.append(host.raw_folder / f"{where} {ip}.out")
        assert where == opener or wait_for(lambda: bool(said[0].read_text()))
    for _ in said:
        ended = host.hear()
        errors = host.raw_folder / f"{ended['id']}.err"
        assert (ended["event"], ended["status"]) == ("exited", 0), errors.read_text()
    return [json.loads(path.read_text().splitlines()[-1]) for path in said]


def run_client(host: Host, ip: int, goes: str) -> dict[str, Any]:
    """What a program at the client says of a connection to a port at the server where nobody listens."""
    values = f"IP = {ip}; PORT = 5001; OTHER = {ADDRESSES[ip]['server']!r}\n"
    host.spawn(f"client {ip}", "client", ["/usr/bin/python3", "-c", values + CONNECT + goes])
    assert host.hear()["status"] == 0, (host.raw_folder / f"client {ip}.err").read_text()
    said: dict[str, Any] = json.loads((host.raw_folder / f"client {ip}.out").read_text())
    return said


def report_of(host: Host) -> dict[str, Any]:
    host.say("stop")
    report = host.hear()
    assert report["event"] == "report", report
    return report
