"""Access control: only this machine's browser with the URL that the command printed may use the server.

- Host must be this server's own name, so another name that resolves to this machine reaches nothing (DNS
  rebinding).
- Origin and Sec-Fetch-Site, where a browser sends them, must be this page's. But a link elsewhere may open
  the page: what shows it cannot look into it.
- Every path begins with a token that is drawn at each start. No cookie is used, so a browser sends nothing
  along by itself.
- What changes something is a POST of JSON with the token in a header. A browser asks before it sends such a
  request of another site's page (CORS), and is refused.
"""

import hmac
import secrets
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "X-Bentpipe-Token"
_NAMES = ("127.0.0.1", "localhost")
_READING = ("GET", "HEAD")
_ANOTHER = "Another site's page asked this."
_NO_TOKEN = "Open the address that `bentpipe web` printed: it has a token in it."
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PLAY_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; "
    "script-src 'unsafe-inline' 'wasm-unsafe-eval' data:; worker-src blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""A report holds its own scripts. In the sandbox it has no origin, so it can ask this server for nothing."""
_POLICIES = (("/reports/", _REPORT_POLICY), ("/play/", _PLAY_POLICY))


@dataclass(frozen=True)
class Tokens:
    page: str
    reports: str
    """Of reports, whose address their own scripts can read: it opens nothing else."""

    @classmethod
    def drawn(cls) -> "Tokens":
        return cls(secrets.token_urlsafe(24), secrets.token_urlsafe(24))


class Guard:
    """Passes on what may be asked, with the token taken off the path; refuses the rest."""

    def __init__(self, app: ASGIApp, tokens: Tokens, port: int) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = {f"{name}:{port}" for name in _NAMES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        _, token, path = (*scope["path"].split("/", 2), "", "")[:3]
        of_report = _same(token, self._tokens.reports)
        refusal = self._refusal(scope, token, of_report=of_report)
        if refusal is not None:
            status, why = refusal
            await _with_headers(PlainTextResponse(f"{why}\n", status), _POLICY)(scope, receive, send)
            return
        below = f"/reports/{path}" if of_report else f"/{path}"
        policy = next((policy for start, policy in _POLICIES if below.startswith(start)), _POLICY)
        inner = {**scope, "path": below, "raw_path": below.encode(), "root_path": ""}
        await _with_headers(self._app, policy)(inner, receive, send)

    def _refusal(self, scope: Scope, token: str, *, of_report: bool) -> tuple[int, str] | None:
        """The status and the reason; None: it may be asked."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        site = headers.get("sec-fetch-site", "none")
        is_form = headers.get("content-type", "").partition(";")[0].strip() != "application/json"
        reads = scope["method"] in _READING
        checks = (
            (
                len(hosts) == 1 and hosts[0] in self._hosts,
                421,
                "This server answers to its own address only.",
            ),
            (all(each == f"http://{host}" for each in origins for host in hosts), 403, _ANOTHER),
            (of_report or site in ("none", "same-origin") or _opens(scope, headers), 403, _ANOTHER),
            (of_report or _same(token, self._tokens.page), 404, _NO_TOKEN),
            (reads or (scope["method"] == "POST" and not of_report), 405, "Expected GET or POST."),
            (
                reads or _same(headers.get(TOKEN_HEADER, ""), self._tokens.page),
                403,
                f"The header {TOKEN_HEADER} is missing or wrong.",
            ),
            (reads or not is_form, 415, "Expected JSON."),
        )
        return next(((status, why) for holds, status, why in checks if not holds), None)


def _opens(scope: Scope, headers: Headers) -> bool:
    """Whether it is the page alone that is opened, in a window of its own."""
    below = scope["path"].strip("/")
    opens = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return opens and "/" not in below and scope["method"] in _READING


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _with_headers(app: ASGIApp, policy: str) -> ASGIApp:
    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                headers["Cache-Control"] = "no-store"
            await send(message)

        await app(scope, receive, sent)

    return wrapped
