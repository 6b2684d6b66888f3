"""Stands in for sing-box: its commands and files, and TCP and UDP with a line of its own between both."""

import json
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any

_IP_TRANSPARENT = 19
_IP_RECVORIGDSTADDR = 20
_LONGEST = 65536


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


def transparent_udp() -> socket.socket:
    found = socket.socket(type=socket.SOCK_DGRAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.setsockopt(socket.SOL_IP, _IP_TRANSPARENT, 1)
    return found


def datagrams_enter(inbound: dict[str, Any], outbound: dict[str, Any]) -> None:
    taking = transparent_udp()
    taking.setsockopt(socket.SOL_IP, _IP_RECVORIGDSTADDR, 1)
    taking.bind((inbound["listen"], inbound["listen_port"]))
    sessions: dict[Any, socket.socket] = {}
    while True:
        payload, [(_, _, original)], _, client = taking.recvmsg(_LONGEST, 64)
        port, address = struct.unpack_from("!H4s", original, 2)
        there = (socket.inet_ntoa(address), port)
        if (client, there) not in sessions:
            session = sessions[client, there] = socket.socket(type=socket.SOCK_DGRAM)
            session.connect((outbound["server"], outbound["server_port"]))
            threading.Thread(target=datagrams_return, args=(session, client, there), daemon=True).start()
        sessions[client, there].send(json.dumps(there).encode() + b"\n" + payload)


def datagrams_return(session: socket.socket, client: Any, there: Any) -> None:
    spoofing = transparent_udp()
    spoofing.bind(there)
    while True:
        spoofing.sendto(session.recv(_LONGEST), client)


def datagrams_leave(inbound: dict[str, Any]) -> None:
    listening = socket.socket(type=socket.SOCK_DGRAM)
    listening.bind((inbound["listen"], inbound["listen_port"]))
    sessions: dict[Any, socket.socket] = {}

    def back(session: socket.socket, near: Any) -> None:
        while True:
            listening.sendto(session.recv(_LONGEST), near)

    while True:
        data, near = listening.recvfrom(_LONGEST)
        line, _, payload = data.partition(b"\n")
        if near not in sessions:
            session = sessions[near] = socket.socket(type=socket.SOCK_DGRAM)
            session.connect(tuple(json.loads(line)))
            threading.Thread(target=back, args=(session, near), daemon=True).start()
        sessions[near].send(payload)


def serve(config: dict[str, Any]) -> None:
    [inbound], [outbound] = config["inbounds"], config["outbounds"]
    is_near = inbound["type"] == "tproxy"
    udp = (datagrams_enter, inbound, outbound) if is_near else (datagrams_leave, inbound)
    threading.Thread(target=udp[0], args=udp[1:], daemon=True).start()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_near:
        listener.setsockopt(socket.SOL_IP, _IP_TRANSPARENT, 1)
    listener.bind((inbound["listen"], inbound["listen_port"]))
    listener.listen()
    while True:
        taken, _ = listener.accept()
        work = (enters, taken, outbound) if is_near else (leaves, taken)
        threading.Thread(target=work[0], args=work[1:], daemon=True).start()


if sys.argv[1] == "generate":
    print("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----")
    print("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----")
else:
    serve(json.loads(Path(sys.argv[3]).read_text()))
