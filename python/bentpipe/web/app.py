"""The server's routes. Every path is below the token (guard.py)."""

import asyncio
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from bentpipe import engines
from bentpipe.errors import BentpipeError, StoreError
from bentpipe.lab.shipped import catalogue, shipped_labs
from bentpipe.web import answers
from bentpipe.web.guard import Guard, Tokens
from bentpipe.web.jobs import Jobs
from bentpipe.web.lab_request import lab_request
from bentpipe.web.runs_list import RunsList
from bentpipe.web.watch import HostWatch
from bentpipe.words.printable import printable

_MOST_BYTES = 5 << 20
_SPEECH = "text/event-stream"


def page_folder() -> Path:
    """Where the built page is. Raises StoreError where it is not built."""
    folder = Path(str(files("bentpipe.web"))) / "page"
    if not (folder / "index.html").is_file():
        raise StoreError(f"{folder}: the page is not built; in a checkout, to build it:  make playground")
    return folder


def playground_folder() -> Path | None:
    """The built playground: in an installed package beside the page, in a checkout in web/built."""
    own, checkout = page_folder() / "play", Path(__file__).parents[3] / "web" / "built"
    return next((each for each in (checkout, own) if (each / "bentpipe.wasm").is_file()), None)


class Local:
    """The page's server: its jobs, its watch, and the list of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = RunsList(folder)
        self.jobs = Jobs(folder)
        self.watch = HostWatch()
        self.tokens = Tokens.drawn()
        self._heavy = asyncio.Semaphore(1)
        """Reports, comparisons and queries go one after the other."""
        self._refreshing: asyncio.Task[None] | None = None

    def app(self, port: int) -> ASGIApp:
        play = playground_folder()
        routes = [
            Route("/api/facts", self._facts),
            Route("/api/runs", self._page),
            Route("/api/folders", self._folders),
            Route("/api/labs/{name}", self._lab),
            Route("/api/start", self._start, methods=["POST"]),
            Route("/api/cancel", self._cancel, methods=["POST"]),
            Route("/api/job", self._job),
            Route("/api/curves", self._curves),
            Route("/api/compare", self._compare),
            Route("/api/heat", self._heat),
            Route("/api/query", self._query, methods=["POST"]),
            Route("/api/watch", self._watching),
            Route("/api/watch/start", self._watch, methods=["POST"]),
            Route("/api/watch/stop", self._unwatch, methods=["POST"]),
            Route("/reports/{name:path}", self._report),
            *([Mount("/play", StaticFiles(directory=play, html=True))] if play else []),
            Mount("/", StaticFiles(directory=page_folder(), html=True)),
        ]
        handlers: Any = {BentpipeError: _refused, HTTPException: _not_found}
        return Guard(Starlette(routes=routes, exception_handlers=handlers), self.tokens, port)

    async def close(self) -> None:
        """End what runs."""
        await asyncio.gather(self.jobs.close(), self.watch.close())

    def refresh(self) -> None:
        """Look for new runs, beside all else."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(asyncio.to_thread(self.runs.refresh))

    async def _facts(self, _request: Request) -> Response:
        return JSONResponse(
            {
                "folder": printable(str(self.folder.resolve())),
                "labs": [{"name": name, "title": printable(title)} for name, title in catalogue()],
                "engines": list(engines.REGISTRY),
                "reports": self.tokens.reports,
                "playground": playground_folder() is not None,
            }
        )

    async def _page(self, request: Request) -> Response:
        asked = request.query_params
        if self.runs.is_old:
            self.refresh()
        return JSONResponse(
            await asyncio.to_thread(
                self.runs.page,
                _number(asked.get("first", "0")),
                _number(asked.get("count", "100")),
                sort=asked.get("sort", "started"),
                down=asked.get("down", "1") == "1",
                text=asked.get("text", ""),
                folder=asked.get("folder", ""),
            )
        )

    async def _folders(self, _request: Request) -> Response:
        await asyncio.to_thread(self.runs.refresh)  # a folder that a lab has just written is among them
        return JSONResponse(await asyncio.to_thread(self.runs.folders))

    async def _lab(self, request: Request) -> Response:
        file = shipped_labs().get(request.path_params["name"])
        if file is None:
            raise StoreError("there is no lab of that name")
        return PlainTextResponse(file.read_text(encoding="utf-8"))

    async def _start(self, request: Request) -> Response:
        asked = lab_request(await _json(request), self.folder)
        job = await self.jobs.start(asked)
        return JSONResponse({"number": job.state["number"]})

    async def _cancel(self, _request: Request) -> Response:
        await self.jobs.cancel()
        return JSONResponse({})

    async def _job(self, _request: Request) -> Response:
        return StreamingResponse(self.jobs.messages(), media_type=_SPEECH)

    async def _curves(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        paths = await self._paths(names)
        return await self._answered(lambda: answers.curves(paths, names))

    async def _compare(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        paths = await self._paths(names)

        def both() -> dict[str, Any]:
            single = all((path / "run.json").is_file() for path in paths)
            beside = answers.figures(paths, names) if single else None
            return {**answers.compared(paths), "figures": beside}

        return await self._answered(both)

    async def _heat(self, request: Request) -> Response:
        (path,) = await self._paths([request.query_params.get("folder", "")])
        figure = request.query_params.get("figure", "")
        return await self._answered(lambda: answers.heat_map(path, figure))

    async def _query(self, request: Request) -> Response:
        asked = await _json(request)
        folders, sql = asked.get("folders"), asked.get("sql")
        if not (isinstance(folders, list) and isinstance(sql, str)):
            raise StoreError("expected folders and SQL")
        paths = await self._paths([str(each) for each in folders])
        return await self._answered(lambda: answers.asked(paths, sql))

    async def _watching(self, _request: Request) -> Response:
        return StreamingResponse(self.watch.messages(), media_type=_SPEECH)

    async def _watch(self, request: Request) -> Response:
        asked = await _json(request)
        for_s = asked.get("for_s", 30)
        if not isinstance(for_s, int | float) or not for_s > 0:
            raise StoreError("expected how many seconds to watch")
        await self.watch.start(str(asked.get("what") or ""), float(for_s))
        return JSONResponse({})

    async def _unwatch(self, _request: Request) -> Response:
        await self.watch.stop()
        return JSONResponse({})

    async def _report(self, request: Request) -> Response:
        (path,) = await self._paths([request.path_params["name"]])
        async with self._heavy:
            return HTMLResponse(await asyncio.to_thread(answers.report, path))

    async def _answered(self, work: Callable[[], dict[str, Any]]) -> Response:
        async with self._heavy:
            return JSONResponse(await asyncio.to_thread(work))

    async def _paths(self, names: list[str]) -> list[Path]:
        if not names:
            raise StoreError("expected runs, or folders of runs")
        try:
            return [self.runs.path(name) for name in names]
        except StoreError:  # it may be new
            await asyncio.to_thread(self.runs.refresh)
            return [self.runs.path(name) for name in names]


async def _json(request: Request) -> dict[str, Any]:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _MOST_BYTES:
            raise StoreError("expected at most 5 MB")
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise StoreError("expected a JSON object")
    return found


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


async def _refused(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": printable(str(error))}, 400)


async def _not_found(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return PlainTextResponse("There is no such page.\n" if status == 404 else f"{error}\n", status)
