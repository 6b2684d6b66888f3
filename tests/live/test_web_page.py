"""A lab on `live`, started from the page of `bentpipe web`, runs to its end while its charts grow."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from chromium import LONG_MS, chromium
from local_web import served

LAB = """
title = "From the page"
duration = "2 s"
[path]
rate = "8 Mbit/s"
rtt = "40 ms"
queue = "100 kB"
[[workload]]
name = "download"
kind = "bulk"
"""


@pytest.mark.live
def test_a_live_lab_runs_to_its_end_in_a_browser(tmp_path: Path) -> None:
    with served(tmp_path / "runs") as server, chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(LONG_MS)
        page.goto(f"{server.url}#start")
        page.get_by_text("The lab's text").click()
        page.get_by_label("Lab", exact=True).select_option("")
        page.get_by_role("textbox", name="Name").fill("mine")
        page.get_by_role("textbox", name="The lab's text").fill(LAB)
        page.get_by_label("Engine").select_option("live")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.locator("#job")).to_have_attribute("data-status", "done", timeout=LONG_MS)
        expect(page.locator("#job-lines")).to_contain_text("Mbit/s")
        seen = next(server.messages())["series"]["pipes"]["down"]
        assert len(seen["time_s"]) > 10
        (run,) = (tmp_path / "runs").glob("*/*/run.json")
        assert not (run.parent / "raw").exists()


@pytest.mark.live
def test_bins_of_a_live_run_come_while_it_goes_on_and_a_cancel_leaves_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "runs") as server:
        lab = LAB.replace('"2 s"', '"300 s"')
        assert server.post("start", {"lab": "mine", "text": lab, "engine": "live"})[0] == 200
        for message in server.messages():
            job = message["job"]
            assert job["status"] in ("starting", "running"), job
            if len(message["series"]["pipes"]["down"]["time_s"]) > 1:
                break
        assert server.post("cancel", {})[0] == 200
        job = server.until("cancelled")
        assert not (tmp_path / "runs" / job["folder"]).exists()
