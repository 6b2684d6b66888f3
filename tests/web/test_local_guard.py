"""Only this machine's browser, with the address that was printed, reaches the page of `bentpipe web`."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from asgi import HOST, Answered, asked

from bentpipe.web.app import Local
from bentpipe.web.guard import TOKEN_HEADER
from bentpipe.web.serve import leading

PORT = 8600
OWN = {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}


class Served:
    def __init__(self, folder: Path) -> None:
        self.local = Local(folder)
        self.app = self.local.app(PORT)
        self.token = self.local.tokens.page

    def get(self, path: str, **how: Any) -> Answered:
        return asyncio.run(asked(self.app, path, **how))

    def post(self, path: str, headers: Mapping[str, str], content: object = None, **how: Any) -> Answered:
        body = json.dumps(content or {}).encode()
        return asyncio.run(asked(self.app, path, "POST", headers=headers, content=body, **how))

    @property
    def allowed(self) -> dict[str, str]:
        """What the page itself sends with a POST."""
        return {**OWN, "Content-Type": "application/json", TOKEN_HEADER: self.token}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, page: Path) -> Served:
    assert page.is_file()
    return Served(tmp_path_factory.mktemp("runs"))


def test_the_page_loads_its_own_files_alone_and_no_script_within_it(served: Served) -> None:
    found = served.get(f"/{served.token}/")
    assert found.status == 200
    policy = found.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert b"<script>" not in found.body
    assert found.headers["referrer-policy"] == "no-referrer"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in found.headers
    assert "set-cookie" not in found.headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8600",
        "127.0.0.1",
        "127.0.0.1:8601",
        "127.0.0.1.evil.example:8600",
        "[::1]:8600",
        "",
    ],
)
def test_another_name_that_leads_here_gets_nothing(served: Served, host: str) -> None:
    """DNS rebinding: the browser sends the name that it believes to be talking to."""
    for path in ("/", f"/{served.token}/", f"/{served.token}/api/facts"):
        found = served.get(path, headers={"host": host})
        assert found.status == 421
        assert served.token.encode() not in found.body


def test_two_hosts_are_none(served: Served) -> None:
    assert served.get(f"/{served.token}/", more=[("host", "evil.example")]).status == 421


@pytest.mark.parametrize(
    "path", ["/", "/api/facts", "/x/api/facts", "/play/", "//api/facts", "/%00/api/facts", "/reports/x"]
)
def test_without_the_token_there_is_nothing(served: Served, path: str) -> None:
    found = served.get(path)
    assert found.status == 404
    assert served.token.encode() not in found.body


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8601"},
        {"Origin": "https://127.0.0.1:8600"},
        {"Origin": "http://localhost:8600"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_another_sites_page_is_refused_even_with_the_token(served: Served, headers: dict[str, str]) -> None:
    assert served.get(f"/{served.token}/api/facts", headers=headers).status == 403
    assert served.post(f"/{served.token}/api/cancel", {**served.allowed, **headers}).status == 403


def test_a_link_elsewhere_opens_the_page_and_nothing_below_it(served: Served) -> None:
    """So does the file with which the command starts the browser."""
    opening = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    found = served.get(f"/{served.token}/", headers=opening)
    assert found.status == 200
    assert "frame-ancestors 'none'" in found.headers["content-security-policy"]
    assert found.headers["cross-origin-opener-policy"] == "same-origin"
    for path in ("api/runs", "reports/x", "play/"):
        assert served.get(f"/{served.token}/{path}", headers=opening).status == 403
    assert served.get(f"/{served.token}/", headers={**opening, "Sec-Fetch-Dest": "iframe"}).status == 403


def test_the_browser_is_started_without_the_token_among_its_arguments(served: Served, tmp_path: Path) -> None:
    url = f"http://{HOST}/{served.token}/"
    file = leading(url, tmp_path)
    assert file.stat().st_mode & 0o077 == 0
    assert f"url={url}" in file.read_text()
    assert served.token not in str(file)


@pytest.mark.parametrize("path", ["start", "cancel", "query", "watch/start", "watch/stop"])
def test_a_change_needs_the_token_in_a_header_and_json(served: Served, path: str) -> None:
    address = f"/{served.token}/api/{path}"
    assert served.post(address, {**served.allowed, TOKEN_HEADER: ""}).status == 403
    assert served.post(address, {**served.allowed, TOKEN_HEADER: served.local.tokens.reports}).status == 403
    form = {**served.allowed, "Content-Type": "application/x-www-form-urlencoded"}
    assert served.post(address, form).status == 415
    assert served.post(address, {**served.allowed, "Content-Type": "text/plain"}).status == 415
    assert served.get(address).status == 404  # nothing there to read


def test_the_pages_own_change_is_done(served: Served) -> None:
    assert served.post(f"/{served.token}/api/cancel", served.allowed).status == 200


def test_no_method_but_get_and_post_is_answered(served: Served) -> None:
    for method in ("OPTIONS", "PUT", "DELETE"):
        found = served.get(f"/{served.token}/api/start", method=method, headers=served.allowed)
        assert found.status == 405
        assert "access-control-allow-origin" not in found.headers


def test_a_reports_token_opens_reports_alone(served: Served) -> None:
    reports = served.local.tokens.reports
    assert served.get(f"/{reports}/api/facts").status == 400  # it is taken for the name of a run
    assert served.post(f"/{reports}/api/cancel", served.allowed).status == 405
    for address in (f"/{reports}/x", f"/{served.token}/reports/x"):
        policy = served.get(address).headers["content-security-policy"]
        assert "sandbox allow-scripts" in policy
        assert "allow-same-origin" not in policy
        assert "connect-src" not in policy  # as default-src: nothing
        assert "default-src 'none'" in policy


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "..", ".", "a/../../b", "x\x00y"]
)
def test_nothing_but_runs_of_the_folder_is_read(served: Served, path: str) -> None:
    for address in (f"/{served.local.tokens.reports}/{path}", f"/{served.token}/api/curves?run={path}"):
        found = served.get(address)
        assert found.status == 400
        assert b"root:" not in found.body
    for address in (f"/{served.token}/play/{path}", f"/{served.token}/{path}"):
        assert b"root:" not in served.get(address).body


@pytest.mark.parametrize(
    "content",
    [
        {"lab": "../x", "text": "a"},
        {"lab": "x/../../y", "text": "a"},
        {"lab": "/etc/passwd"},
        {"lab": "nosuch"},
        {"lab": "x" * 61, "text": "a"},
        {"lab": "ok", "text": 5},
        {"lab": "cures", "engine": "warp"},
        {"lab": "cures", "set": "path.rtt=5"},
        {"lab": "cures", "repeat": 0},
        {"lab": "cures", "repeat": True},
        {"lab": "<script>", "text": "a"},
        [],
    ],
    ids=str,
)
def test_a_request_that_is_no_lab_starts_nothing(served: Served, content: object) -> None:
    found = served.post(f"/{served.token}/api/start", served.allowed, content or [1])
    assert found.status == 400
    assert found.json()["error"].startswith(("expected", "invalid"))
    assert served.local.jobs.job is None


def test_a_body_without_end_is_refused(served: Served) -> None:
    found = asyncio.run(
        asked(
            served.app,
            f"/{served.token}/api/query",
            "POST",
            headers=served.allowed,
            content=b'{"sql": "' + b"x" * (6 << 20) + b'"}',
        )
    )
    assert found.status == 400
