"""How soon the playground shows a run and answers a question, and how often it redraws, in headless Chromium.

    python benches/playground [--times 5]

The page is that of web/built (`make playground`). Figures are by the page's own clock.
"""

import argparse
import os
import platform
import shutil
import statistics
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "web/built"
SETTINGS = {
    "16 Mbit/s GEO, 30 s": "rateDown=16000000&rateUp=16000000",
    "50 Mbit/s GEO, 30 users": "users=30&queue=400000",
    "100 Mbit/s, 40 ms": "rateDown=100000000&rtt=40000000&queue=500000",
}
QUESTION = "What would a 400 kB queue do to my 50 Mbit/s GEO line with 30 users?"
THINK_MS = 2000
"""How long the reader looks before each step of the answer."""
KEY_MS = 200
LONG_MS = 120_000
DRAG_MS = 3000
STEP_MS = 25
WATCH = """
new MutationObserver((_, it) => {
  const status = document.getElementById("status");
  if (status?.dataset.state === undefined || document.querySelector(".chart canvas") === null) return;
  it.disconnect();
  requestAnimationFrame(() => { window.drawnAtMs = performance.now(); });
}).observe(document, { subtree: true, childList: true, attributes: true });
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
DRAG = """
(lastMs) => new Promise((resolve) => {
  const slider = document.getElementById("set-queue"), status = document.getElementById("status");
  const runs = () => Number(status.dataset.runs), before = runs(), begunMs = performance.now();
  let frames = 0;
  const next = (nowMs) => {
    frames += 1;
    slider.value = String(20 + (3 * frames) % 360);
    slider.dispatchEvent(new Event("input"));
    const seconds = (nowMs - begunMs) / 1000;
    if (1000 * seconds < lastMs) requestAnimationFrame(next);
    else resolve([(runs() - before) / seconds, frames / seconds]);
  };
  requestAnimationFrame(next);
})
"""
"""The slider moves at every frame, in the page: a mouse that the driver moves came ten times per second."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


def opened(browser: Browser, url: str) -> tuple[Page, float, float]:
    """The page, and when it was first painted and first showed a run, in ms from its start."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(LONG_MS)
    page.add_init_script(WATCH)
    page.goto(url)
    while page.evaluate("window.drawnAtMs === undefined"):
        page.wait_for_timeout(STEP_MS)
    return page, page.evaluate(PAINTED), page.evaluate("window.drawnAtMs")


def dragged(page: Page) -> tuple[float, float]:
    """Runs drawn and frames painted per second, while the slider of the queue is moved."""
    runs, frames = page.evaluate(DRAG, DRAG_MS)
    return runs, frames


def answered(browser: Browser, url: str) -> tuple[float, str]:
    """Seconds to the sentence that answers QUESTION by the steps of docs/playground.md, and the sentence."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(LONG_MS)
    page.goto(url)
    for label, text in (("Users, typed", "30"), ("", "Pin this run"), ("Queue, typed", "400 kB")):
        page.wait_for_timeout(THINK_MS)
        if not label:
            page.get_by_role("button", name=text).click()
            continue
        field = page.get_by_label(label)
        field.click(click_count=3)
        field.press_sequentially(text, delay=KEY_MS)
        field.press("Enter")
    sentence = page.locator("#comparison")
    while not sentence.inner_text().startswith("With queue 400 kB instead of 1 MB: "):
        page.wait_for_timeout(STEP_MS)
    seconds = page.evaluate("performance.now()") / 1000
    said = sentence.inner_text()
    page.close()
    return seconds, said


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="playground", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--times", type=int, default=5, help="how often each is opened (5)")
    times = parser.parse_args().times
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(BUILT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{platform.release()}, {os.cpu_count()} processors, load average {load}")
    for name in ("bentpipe.wasm", "main.js", "worker.js"):
        print(f"{name}: {(BUILT / name).stat().st_size} bytes")
    heads = ("first paint", "first picture", "redraws/s", "frames/s")
    print(f"\n{f'medians of {times}':28}" + "".join(f"{head:>15}" for head in heads))
    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=LONG_MS)
        for name, settings in SETTINGS.items():
            found = []
            for _ in range(times):
                page, painted_ms, drawn_ms = opened(
                    browser, f"http://127.0.0.1:{server.server_port}/#{settings}"
                )
                found.append((painted_ms, drawn_ms, *dragged(page)))
                page.close()
            painted, drawn, redraws, frames = (statistics.median(each) for each in zip(*found, strict=True))
            print(f"{name:28}{painted:12.0f} ms{drawn:12.0f} ms{redraws:15.1f}{frames:15.1f}", flush=True)
        seconds, said = answered(browser, f"http://127.0.0.1:{server.server_port}/")
        print(
            f"\n{QUESTION}\n{said}\n{seconds:.1f} s after the page was opened, "
            f"with {THINK_MS / 1000:.0f} s before each step and {KEY_MS} ms per key"
        )
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
