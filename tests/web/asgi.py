"""Requests to an ASGI application, without a network."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HOST = "127.0.0.1:8600"


@dataclass(frozen=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


async def asked(
    app: Any,
    path: str,
    method: str = "GET",
    *,
    headers: Mapping[str, str] | None = None,
    more: Sequence[tuple[str, str]] = (),
    content: bytes = b"",
) -> Answered:
    """`headers` in place of what a browser would send; `more` beside them, also of the same name."""
    sent = {"host": HOST} | dict(headers or {})
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in [*sent.items(), *more] if value
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8600),
    }
    messages: list[dict[str, Any]] = []
    requests = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if requests:
            return requests.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await app(scope, receive, send)
    begin = messages[0]
    found = {name.decode().lower(): value.decode() for name, value in begin["headers"]}
    return Answered(begin["status"], found, b"".join(each.get("body", b"") for each in messages[1:]))
