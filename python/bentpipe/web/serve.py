"""Starts the server on a port of 127.0.0.1, opens the browser, and ends cleanly at Ctrl-C."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import uvicorn

from bentpipe import interruption
from bentpipe.errors import EngineError, StoreError
from bentpipe.web.app import Local, page_folder

ADDRESS = "127.0.0.1"
_LOOK_S = 0.1
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are heard by `serve`."""
        yield


def serve(folder: Path, port: int, *, opens: bool, say: Callable[[str], None]) -> None:
    """Serve the page until a Ctrl-C. `port`: 0 for any that is free. `say` is given the page's address.

    Raises EngineError where the port is in use, StoreError where the page is not built.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; --runs wants a folder")
    page_folder()
    with contextlib.closing(_listening(port)) as listening, interruption.put_off() as asked:
        for number in interruption.ENDING:
            if number != signal.SIGINT and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: asked.set())
        asyncio.run(_serve(folder, listening, asked, opens=opens, say=say))


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would take a port from another program
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise EngineError(
            f"--port: {port} cannot be used: {error.strerror}. Choose another port, or leave --port out to "
            "take any that is free",
            what="port",
        ) from None
    return listening


async def _serve(
    folder: Path, listening: socket.socket, asked: Event, *, opens: bool, say: Callable[[str], None]
) -> None:
    local = Local(folder)
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        local.app(port),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=3,
    )
    server = _Server(config)
    local.refresh()
    url = f"http://{ADDRESS}:{port}/{local.tokens.page}/"
    serving = asyncio.create_task(server.serve([listening]))
    say(url)
    with tempfile.TemporaryDirectory(prefix="bentpipe-web-") as own:
        if opens and _has_display():
            await asyncio.to_thread(webbrowser.open, leading(url, Path(own)).as_uri())
        while not (asked.is_set() or serving.done()):
            await asyncio.sleep(_LOOK_S)
    await local.close()
    server.should_exit = True
    await serving


def leading(url: str, own: Path) -> Path:
    """A file in a folder of this user's own that leads a browser to the address. Other users of this machine
    can read the arguments with which a browser is started, so the token is not among them."""
    file = own / "bentpipe.html"
    file.touch(mode=0o600)
    leads = f'<meta http-equiv="refresh" content="0; url={url}">'
    file.write_text(f'<!doctype html>{leads}<title>bentpipe</title><a href="{url}">bentpipe</a>')
    return file


def _has_display() -> bool:
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in _DISPLAYS)
