"""Servers and clients of the trials. `talk.py serve` runs all servers; the clients print JSON."""

import argparse
import asyncio
import base64
import contextlib
import hashlib
import json
import os
import random
import socket
import struct
import sys
import time

ECHO, AFTER_END, BEFORE_END, WEB_SOCKET, DNS = 7001, 7002, 7003, 7004, 53
PUBLIC = "203.0.114.2"
REBINDS = ("127.0.0.1", "10.9.0.2", "169.254.169.254", "198.18.0.2")
"""`rebindN...` has the public address when it is first asked for, and REBINDS[N] from then on."""
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3


def content(seed: int, length: int) -> bytes:
    return random.Random(seed).randbytes(length)


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


# --- the servers


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()


async def _after_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers when the client has sent all and closed its half: its hash, then bytes of its own."""
    asked = await reader.read(-1)
    writer.write(digest(asked) + content(2, len(asked)))
    await writer.drain()


async def _before_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends all and closes its half first, then reads on, and says in a second connection what came."""
    line = (await reader.readline()).split()
    length, told = int(line[0]), int(line[1])
    writer.write(content(3, length))
    writer.write_eof()
    came = await reader.read(-1)
    _came[told] = digest(came)


_came: dict[int, bytes] = {}


async def _what_came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    told = int(await reader.readline())
    while told not in _came:
        await asyncio.sleep(0.02)
    writer.write(_came[told])


def _closes(serve):
    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()

    return served


def frame(kind: int, body: bytes, mask: bytes = b"") -> bytes:
    """RFC 6455, section 5.2."""
    flag = 0x80 if mask else 0
    head = bytes([0x80 | kind])
    if len(body) < 126:
        head += bytes([flag | len(body)])
    elif len(body) < 1 << 16:
        head += struct.pack(">BH", flag | 126, len(body))
    else:
        head += struct.pack(">BQ", flag | 127, len(body))
    if mask:
        key = (mask * (len(body) // 4 + 1))[: len(body)]
        body = (int.from_bytes(body, "big") ^ int.from_bytes(key, "big")).to_bytes(len(body), "big")
    return head + mask + body


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length >= 126:
        size = 2 if length == 126 else 8
        length = int.from_bytes(await reader.readexactly(size), "big")
    mask = await reader.readexactly(4) if second & 0x80 else b""
    body = await reader.readexactly(length)
    if mask:
        key = (mask * (length // 4 + 1))[:length]
        body = (int.from_bytes(body, "big") ^ int.from_bytes(key, "big")).to_bytes(length, "big")
    return first & 0xF, body


def accepted(key: bytes) -> bytes:
    return base64.b64encode(hashlib.sha1(key + _GUID).digest())


async def _web_socket(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Echoes messages; answers a ping with a pong and a close with a close."""
    head = await reader.readuntil(b"\r\n\r\n")
    key = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accepted(key.split(b":")[1].strip()) + b"\r\n\r\n"
    )
    while True:
        kind, body = await read_frame(reader)
        writer.write(frame(10 if kind == 9 else kind, body))
        await writer.drain()
        if kind == 8:
            return


class _Dns(asyncio.DatagramProtocol):
    """Answers each question for an address with one that depends on its name."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.transport.sendto(dns_answer(data), addr)  # type: ignore[attr-defined]


def dns_question(number: int) -> bytes:
    """RFC 1035, section 4: one question for an A record."""
    name = b"".join(bytes([len(word)]) + word for word in (f"host{number}".encode(), b"example"))
    return struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + name + b"\0" + struct.pack(">HH", 1, 1)


_asked: set[bytes] = set()


def addresses(name: bytes) -> list[str]:
    """Of the names that have a meaning here."""
    if name.startswith(b"rebind"):
        again = name in _asked
        _asked.add(name)
        return [REBINDS[int(name[6:7])] if again else PUBLIC]
    if name.startswith(b"both"):
        # A port that nobody listens at refuses the connection to the first one.
        return [PUBLIC, "127.0.0.1"]
    if name.startswith(b"inside"):
        return ["10.9.0.2"]
    return [socket.inet_ntoa(hashlib.sha256(name).digest()[:4])]


def dns_answer(question: bytes) -> bytes:
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length])
        at += 1 + length
    kind = int.from_bytes(question[at + 1 : at + 3], "big")
    found = addresses(b".".join(labels).lower()) if kind == 1 else []
    head = question[:2] + struct.pack(">5H", 0x8180, 1, len(found), 0, 0) + question[12 : at + 5]
    return head + b"".join(
        struct.pack(">HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(address) for address in found
    )


async def serve() -> None:
    loop = asyncio.get_running_loop()
    for port, what in (
        (ECHO, _echo),
        (AFTER_END, _after_end),
        (BEFORE_END, _before_end),
        (WEB_SOCKET, _web_socket),
        (BEFORE_END + 100, _what_came),
    ):
        await asyncio.start_server(_closes(what), None, port, backlog=1024)
    await loop.create_datagram_endpoint(_Dns, local_addr=("0.0.0.0", DNS))
    print("ready", flush=True)
    await asyncio.Event().wait()


# --- the clients. Each returns the bytes that crossed, and what was wrong with them.


async def half_close(host: str, length: int) -> tuple[int, str]:
    """The client ends its half first and is answered then; then the other way round."""
    asked = content(1, length)
    reader, writer = await asyncio.open_connection(host, AFTER_END)
    writer.write(asked)
    writer.write_eof()
    if await reader.read(-1) != digest(asked) + content(2, length):
        return length, "the answer after the client's end is wrong"
    writer.close()
    told = random.randrange(1 << 30)
    reader, writer = await asyncio.open_connection(host, BEFORE_END)
    writer.write(f"{length} {told}\n".encode())
    if await reader.read(-1) != content(3, length):
        return length, "what the server sent before its end is wrong"
    writer.write(asked)
    writer.write_eof()
    reader, other = await asyncio.open_connection(host, BEFORE_END + 100)
    other.write(f"{told}\n".encode())
    if await reader.read(-1) != digest(asked):
        return length, "what the client sent after the server's end is wrong"
    other.close()
    writer.close()
    return 4 * length, ""


async def web_socket(host: str, count: int) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection(host, WEB_SOCKET)
    key = base64.b64encode(os.urandom(16))
    writer.write(
        b"GET /chat HTTP/1.1\r\nHost: server\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: " + key + b"\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 101 " not in head or accepted(key) not in head:
        return 0, "the handshake is wrong"
    sizes = [(0, 1, 125, 126, 1000, 65535, 65536, 300_000)[number % 8] for number in range(count)]
    kinds = [(1, 2, 9)[number % 3] if size < 126 else 2 for number, size in enumerate(sizes)]
    bodies = [
        content(number, size).hex().encode()[:size] if kind == 1 else content(number, size)
        for number, (size, kind) in enumerate(zip(sizes, kinds, strict=True))
    ]

    async def send() -> None:
        for kind, body in zip(kinds, bodies, strict=True):
            writer.write(frame(kind, body, os.urandom(4)))
            await writer.drain()
        writer.write(frame(8, struct.pack(">H", 1000), os.urandom(4)))

    sends = asyncio.create_task(send())
    for number, (kind, body) in enumerate(zip(kinds, bodies, strict=True)):
        if await read_frame(reader) != (10 if kind == 9 else kind, body):
            return 0, f"message {number} is wrong"
    kind, body = await read_frame(reader)
    await sends
    if (kind, body) != (8, struct.pack(">H", 1000)) or await reader.read(-1):
        return 0, "the close is wrong"
    writer.close()
    return 2 * sum(sizes), ""


async def short_connections(host: str, count: int, at_once: int) -> tuple[int, str]:
    """Each asks with a few bytes, and reads its answer up to the server's end."""
    limit = asyncio.Semaphore(at_once)
    wrong: list[str] = []
    crossed = 0

    async def one(number: int) -> None:
        nonlocal crossed
        asked = content(number, 1 + number * 7919 % 2000)
        async with limit:
            try:
                reader, writer = await asyncio.open_connection(host, ECHO)
                writer.write(asked)
                writer.write_eof()
                got = await reader.read(-1)
                writer.close()
            except OSError as error:
                wrong.append(f"connection {number}: {error}")
                return
        if got != asked:
            wrong.append(f"connection {number}: {len(got)} of {len(asked)} bytes")
        crossed += len(asked) + len(got)

    await asyncio.gather(*(one(number) for number in range(count)))
    return crossed, f"{len(wrong)} of {count} wrong; {wrong[0]}" if wrong else ""


async def dns(proxy: str, host: str, count: int) -> tuple[int, str]:
    """By SOCKS5's UDP, or by TPROXY (`-`). UDP may be lost: a question is asked again after a second."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.settimeout(1)
    if proxy == "-":
        out.connect((host, DNS))
        return _ask_names(out, b"", count)
    reader, writer = await asyncio.open_connection(*proxy.rsplit(":", 1))
    writer.write(b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0")
    answer = await reader.readexactly(12)
    if answer[:6] != b"\x05\x00\x05\x00\x00\x01":
        return 0, f"SOCKS answers {answer.hex()}"
    out.connect((socket.inet_ntoa(answer[6:10]), int.from_bytes(answer[10:12], "big")))
    did = _ask_names(out, b"\0\0\0\x01" + socket.inet_aton(host) + DNS.to_bytes(2, "big"), count)
    writer.close()
    return did


def _ask_names(out: socket.socket, head: bytes, count: int) -> tuple[int, str]:
    """`head` goes before each datagram, and comes before each answer."""
    crossed = 0
    for number in range(count):
        asked = dns_question(number)
        until = time.monotonic() + 30
        while True:
            out.send(head + asked)
            with contextlib.suppress(TimeoutError):
                got = out.recv(4096)
                # One that came late is of an earlier question.
                if got[len(head) : len(head) + 2] == asked[:2]:
                    break
            if time.monotonic() > until:
                return crossed, f"question {number} got no answer"
        if got != head + dns_answer(asked):
            return crossed, f"the answer to question {number} is wrong"
        crossed += len(asked) + len(got) - len(head)
    return crossed, ""


async def victims() -> None:
    """Listens at every address on the port of `echo` and another one, and says who came."""

    async def reached(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        print("reached", writer.get_extra_info("sockname")[0], flush=True)
        writer.close()

    for port in (ECHO, ECHO + 1000):
        await asyncio.start_server(reached, None, port)
    print("ready", flush=True)
    await asyncio.Event().wait()


async def ask(proxy: str, host: str, port: int) -> str:
    """By SOCKS5. `reset`: the connection was refused. Otherwise what was echoed."""
    reader, writer = await asyncio.open_connection(*proxy.rsplit(":", 1))
    name = host.encode()
    writer.write(b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(name)]) + name + port.to_bytes(2, "big"))
    head = await reader.readexactly(12)
    if head[:4] != b"\x05\x00\x05\x00":
        return head.hex()
    try:
        writer.write(b"hello")
        return (await asyncio.wait_for(reader.read(5), 30)).decode() or "closed"
    except ConnectionResetError:
        return "reset"
    except TimeoutError:
        return "nothing"
    finally:
        writer.close()


async def conversation(host: str) -> tuple[int, str]:
    """One connection for as long as there are lines on standard input: each is how much is to be echoed.

    It prints `right`, or what was wrong, for each.
    """
    reader, writer = await asyncio.open_connection(host, ECHO)
    crossed = 0
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = content(crossed, int(line))

        async def send(asked: bytes = asked) -> None:
            writer.write(asked)
            await writer.drain()

        sends = asyncio.create_task(send())
        try:
            got = await reader.readexactly(len(asked))
            await sends
        except (OSError, asyncio.IncompleteReadError) as error:
            print(f"the connection ended: {error}", flush=True)
            return crossed, "ended"
        print("right" if got == asked else "wrong bytes", flush=True)
        crossed += 2 * len(asked)
    return crossed, ""


def _place(text: str) -> tuple[str, int]:
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what",
        choices=[
            "serve",
            "victims",
            "ask",
            "half-close",
            "web-socket",
            "short-connections",
            "dns",
            "conversation",
        ],
    )
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    words = arguments.words
    match arguments.what:
        case "serve":
            asyncio.run(serve())
            return
        case "victims":
            asyncio.run(victims())
            return
        case "ask":
            print(json.dumps([asyncio.run(ask(words[0], *_place(place))) for place in words[1:]]))
            return
        case "half-close":
            did = asyncio.run(half_close(words[0], int(words[1])))
        case "web-socket":
            did = asyncio.run(web_socket(words[0], int(words[1])))
        case "short-connections":
            did = asyncio.run(short_connections(words[0], int(words[1]), int(words[2])))
        case "dns":
            did = asyncio.run(dns(words[0], words[1], int(words[2])))
        case _:
            did = asyncio.run(conversation(words[0]))
    print(json.dumps({"bytes": did[0], "wrong": did[1]}))


if __name__ == "__main__":
    main()
