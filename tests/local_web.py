"""`bentpipe web` as a process of its own, and requests to it."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from waiting import LONG_S

ROOT = Path(__file__).parents[1]
TOKEN_HEADER = "X-Bentpipe-Token"


@dataclass
class Running:
    process: subprocess.Popen[str]
    url: str
    folder: Path

    @property
    def token(self) -> str:
        return self.url.rstrip("/").rpartition("/")[2]

    def post(self, path: str, content: object) -> tuple[int, Any]:
        return self._asked("POST", path, json.dumps(content))

    def get(self, path: str) -> tuple[int, Any]:
        return self._asked("GET", path, None)

    def messages(self, path: str = "job") -> Iterator[dict[str, Any]]:
        """Of a stream of events, until it ends."""
        connection, response = self._begun("GET", path, None)
        try:
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()

    def until(self, *statuses: str) -> dict[str, Any]:
        """The job's state when it is one of these."""
        for message in self.messages():
            job = message["job"]
            if job and job["status"] in statuses:
                return dict(job)
        raise AssertionError("the stream ended")

    def _asked(self, method: str, path: str, body: str | None) -> tuple[int, Any]:
        connection, response = self._begun(method, path, body)
        try:
            content = response.read()
            return response.status, json.loads(content) if content.startswith((b"{", b"[")) else content
        finally:
            connection.close()

    def _begun(
        self, method: str, path: str, body: str | None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=LONG_S)
        headers = {TOKEN_HEADER: self.token, "Content-Type": "application/json"} if body is not None else {}
        address = path if path.startswith("/") else f"{parts.path}api/{path}"
        connection.request(method, address, body, headers)
        return connection, connection.getresponse()


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[Running]:
    """From its first line on; it is ended as by a Ctrl-C."""
    command = [sys.executable, "-m", "bentpipe", "web", "--no-open", "--runs", str(folder), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:"), process.stderr and process.stderr.read()
            yield Running(process, url, folder)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(LONG_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
