"""The users of a soak, and the server that they fetch from: bytes that both know, in one connection each."""

import argparse
import asyncio
import contextlib
import json
import random
import time

from hosts import SERVER

PORT = 8080
_BLOCK = bytes(random.Random(1).randbytes(1 << 16))


def content(start: int, length: int) -> bytes:
    """Bytes of an endless text that repeats after 65536."""
    start %= len(_BLOCK)
    whole = (_BLOCK[start:] + _BLOCK) * (1 + length // len(_BLOCK))
    return whole[:length]


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, ValueError):
        start, length = map(int, (await reader.readline()).split())
        sent = 0
        while sent < length:
            piece = content(start + sent, min(65536, length - sent))
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
    with contextlib.suppress(ConnectionError):
        writer.close()
        await writer.wait_closed()


async def serve() -> None:
    server = await asyncio.start_server(_answer, "0.0.0.0", PORT)
    async with server:
        await server.serve_forever()


async def _fetch(start: int, length: int) -> str:
    """How it ended: "right", "wrong", or why it failed."""
    try:
        reader, writer = await asyncio.open_connection(SERVER, PORT)
    except OSError as error:
        return f"not opened: {error.strerror}"
    try:
        writer.write(f"{start} {length}\n".encode())
        got = await reader.read(0)
        while piece := await reader.read(65536):
            if piece != content(start + len(got), len(piece)):
                return "wrong"
            got += piece
        return "right" if len(got) == length else "cut off"
    except OSError as error:
        return f"broke: {error.strerror or error}"
    finally:
        writer.close()


async def _user(number: int, seed: int, limit_s: float) -> None:
    drawn = random.Random(seed * 1000 + number)
    while True:
        begun = time.monotonic()
        length = round(1000 * 2 ** drawn.uniform(0, 11))
        try:
            ended = await asyncio.wait_for(_fetch(drawn.randrange(1 << 20), length), limit_s)
        except TimeoutError:
            ended = "took too long"
        print(json.dumps([begun, time.monotonic(), length, ended]), flush=True)
        await asyncio.sleep(drawn.expovariate(1 / 0.2))


async def use(users: int, seed: int, limit_s: float) -> None:
    await asyncio.gather(*(_user(number, seed, limit_s) for number in range(users)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="be the server; without it, the users")
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
    else:
        asyncio.run(use(arguments.users, arguments.seed, 60))


if __name__ == "__main__":
    main()
