"""Stands in for sing-box: its commands and files, and TCP with a line of its own between both ends."""

import json
import socket
import sys
import threading
from pathlib import Path
from typing import Any

_IP_TRANSPARENT = 19


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        sink.close()


def join(one: socket.socket, other: socket.socket) -> None:
    for pair in ((one, other), (other, one)):
        threading.Thread(target=pump, args=pair, daemon=True).start()


def enters(taken: socket.socket, outbound: dict[str, Any]) -> None:
    host, port = taken.getsockname()[:2]
    there = socket.create_connection((outbound["server"], outbound["server_port"]))
    there.sendall(f"{host} {port}\n".encode())
    join(taken, there)


def leaves(taken: socket.socket) -> None:
    line = b""
    while not line.endswith(b"\n"):
        line += taken.recv(1)
    host, port = line.decode().split()
    join(taken, socket.create_connection((host, int(port))))


def serve(config: dict[str, Any]) -> None:
    [inbound], [outbound] = config["inbounds"], config["outbounds"]
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if inbound["type"] == "tproxy":
        listener.setsockopt(socket.SOL_IP, _IP_TRANSPARENT, 1)
    listener.bind((inbound["listen"], inbound["listen_port"]))
    listener.listen()
    while True:
        taken, _ = listener.accept()
        work = (enters, taken, outbound) if inbound["type"] == "tproxy" else (leaves, taken)
        threading.Thread(target=work[0], args=work[1:], daemon=True).start()


if sys.argv[1] == "generate":
    print("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----")
    print("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----")
else:
    serve(json.loads(Path(sys.argv[3]).read_text()))
