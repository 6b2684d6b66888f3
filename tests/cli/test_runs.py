"""Runs from the command line: what stdout, stderr, the folder and the exit status say."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import marked, packets_sent

import bentpipe
from invocation import PLAIN, Command
from waiting import LONG_S, wait_for

pytestmark = pytest.mark.live

SUMMARY_KEYS = {
    "lab", "engine", "seed", "variant", "point", "reliable", "why", "folder", "wall_s", "workloads", "pipes",
    "engine_error",
}  # fmt: skip
PIPE_KEYS = {"throughput_mbit_s", "goodput_mbit_s", "drops", "queue_bytes_mean", "queue_bytes_max"}
TOLERANT = [
    "--engine",
    "live",
    "--set",
    'limits.lateness_p99="1 s"',
    "--set",
    "limits.unintended_loss=1000",
    "--set",
    "limits.rate_error=1",
    "--set",
    "limits.host_wait_share=1",
    "--set",
    "limits.bulk_wait_share=1",
    "--set",
    "limits.channels_wait_share=1",
    "--set",
    'limits.host_wait_max="1 h"',
    "--set",
    'limits.sampler_late="1 h"',
]
"""For what does not ask whether this machine is quiet."""


def pings(mark: str) -> list[int]:
    """The programs `ping` that a test's runs have started."""
    return [pid for pid, argv in marked(mark).items() if b"ping" in argv]


def test_json_is_an_object_per_run_as_the_contract_has_it(run: Command, tmp_path: Path) -> None:
    said = run("run", "plain.toml", "--json", "--repeat", "2", "--out", "out", *TOLERANT)
    assert said.status == 0, said.stderr
    first, second = said.objects
    assert set(first) >= SUMMARY_KEYS
    assert (first["lab"], first["engine"], first["variant"], first["point"]) == ("plain", "live", "as is", {})
    assert (first["seed"], second["seed"]) == (1, 2)
    rtt = first["workloads"]["rtt"]
    assert (rtt["kind"], rtt["sent"]) == ("ping", 3)
    # An answer that the engine sends on late can come when ping has ended. The engine reports how late that
    # was: by other limits than these the run would be unreliable.
    assert 0 <= rtt["lost"] <= 3
    if rtt["lost"] < 3:
        assert 20 <= rtt["min_ms"] <= rtt["median_ms"] <= rtt["max_ms"]
    assert set(first["pipes"]["down"]) >= PIPE_KEYS
    assert set(first["engine_error"]) >= {
        "lateness_us_p50",
        "lateness_us_p99",
        "rate_error",
        "unintended_loss",
    }
    assert (tmp_path / first["folder"] / "run.json").exists()


def test_progress_goes_to_stderr_and_the_table_to_stdout(run: Command) -> None:
    said = run("run", "plain.toml", "--out", "out", *TOLERANT)
    assert "A plain lab" in said.stdout
    assert "[1/1]" in said.stderr
    assert "\x1b" not in said.stdout + said.stderr
    quiet = run("run", "plain.toml", "--out", "again", "--quiet", *TOLERANT)
    assert quiet.stderr == ""


def test_an_interrupted_sweep_goes_on_where_it_stopped(run: Command, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(PLAIN + '[sweep]\n"path.rtt" = ["1 ms", "2 ms", "3 ms"]\n')
    command = [sys.executable, "-m", "bentpipe", "run", "sweep.toml", "--json", "--out", "out", *TOLERANT]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        done = json.loads(first.stdout.readline())
        first.send_signal(signal.SIGINT)
        assert first.wait(LONG_S) == 130
    out = tmp_path / "out"
    assert [path.name for path in out.iterdir() if path.is_dir()] == [Path(done["folder"]).name]
    stamp = (tmp_path / done["folder"] / "run.json").stat().st_mtime_ns
    said = run("run", "sweep.toml", "--json", "--out", "out", *TOLERANT)
    assert said.status == 0, said.stderr
    assert [each["point"]["path.rtt"] for each in said.objects] == ["1 ms", "2 ms", "3 ms"]
    assert (tmp_path / done["folder"] / "run.json").stat().st_mtime_ns == stamp
    assert len(bentpipe.Results.open(out).records) == 3


def test_another_lab_does_not_write_into_the_folder(run: Command) -> None:
    assert run("run", "plain.toml", "--out", "out", *TOLERANT).status == 0
    said = run("run", "plain.toml", "--out", "out", "--set", "path.rtt='9 ms'", *TOLERANT)
    assert said.status == 2
    assert "--out" in said.stderr


def test_ctrl_c_leaves_no_process_and_no_half_written_run(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(PLAIN.replace("count = 3", "count = 1000"))
    command = [sys.executable, "-m", "bentpipe", "run", "long.toml", "--engine", "live", "--out", "out"]
    mark = {"BENTPIPE_TEST": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ | mark, stderr=subprocess.PIPE) as running:
        assert wait_for(lambda: bool(pings(str(tmp_path))))
        running.send_signal(signal.SIGINT)
        assert running.wait(LONG_S) == 130
        said = running.stderr.read().decode() if running.stderr else ""
    assert "Traceback" not in said
    assert "interrupted" in said
    assert wait_for(lambda: not marked(str(tmp_path)))
    assert not (tmp_path / "out").exists()


def test_kill_9_leaves_no_process_and_a_folder_that_any_lab_may_have(run: Command, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(PLAIN.replace("count = 3", "count = 1000"))
    command = [sys.executable, "-m", "bentpipe", "run", "long.toml", "--engine", "live", "--out", "out"]
    mark = {"BENTPIPE_TEST": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ | mark, stderr=subprocess.PIPE) as running:
        assert wait_for(lambda: bool(pings(str(tmp_path))))
        running.kill()
        running.wait(LONG_S)
    assert wait_for(lambda: not marked(str(tmp_path)))
    assert run("run", "plain.toml", "--out", "out", "--quiet", *TOLERANT).status == 0
    assert len(bentpipe.Results.open(tmp_path / "out").records) == 1


def test_what_the_kernel_refuses_leaves_no_folder_behind(run: Command, tmp_path: Path) -> None:
    other = "hybla"
    said = run(
        "run", "plain.toml", "--out", "out", "--engine", "live", "--set", f"host.congestion_control={other}"
    )
    if said.status != 2:
        pytest.skip(f"this kernel has {other} loaded")
    assert "modprobe" in said.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_whose_engine_is_starved_comes_out_unreliable_and_says_so(tmp_path: Path) -> None:
    busy = (
        PLAIN.replace('"20 ms"', '"200 ms"').replace("count = 3", "count = 300").replace('"50 ms"', '"5 ms"')
    )
    (tmp_path / "busy.toml").write_text(busy)
    command = [
        sys.executable,
        "-m",
        "bentpipe",
        "run",
        "busy.toml",
        "--engine",
        "live",
        "--json",
        "-q",
        "--out",
        "out",
    ]
    mark = {"BENTPIPE_TEST": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ | mark, stdout=subprocess.PIPE) as running:
        assert wait_for(lambda: any(packets_sent(pid) > 20 for pid in pings(str(tmp_path))))
        engine = [pid for pid, argv in marked(str(tmp_path)).items() if b"live_host" in argv]
        for pid in engine:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.3)
        for pid in engine:
            os.kill(pid, signal.SIGCONT)
        assert running.stdout is not None
        record = json.loads(running.stdout.read())
        assert running.wait(LONG_S) == 1
    assert record["status"] == "done"
    assert record["reliable"] is False
    assert any("after the model's time" in why for why in record["why"])
    assert record["engine_error"]["lateness_us_max"] > 100_000


def test_a_shell_command_runs_at_the_client_and_its_status_is_ours(run: Command) -> None:
    said = run("shell", "plain.toml", "--", "ping", "-c", "1", "server")
    assert said.status == 0
    assert "from server" in said.stdout
    assert run("shell", "plain.toml", "--", "sh", "-c", "exit 7").status == 7
    missing = run("shell", "plain.toml", "--", "no-such-program")
    assert missing.status == 2
    assert "no-such-program" in missing.stderr


def test_a_shell_takes_the_first_point_of_a_sweep_and_says_so(run: Command, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(PLAIN + '[sweep]\n"path.rtt" = ["1 ms", "2 ms"]\n')
    said = run("shell", "sweep.toml", "--", "true")
    assert said.status == 0
    assert "1 ms" in said.stderr


def test_a_report_is_written_from_what_a_run_left(run: Command, tmp_path: Path) -> None:
    assert run("run", "plain.toml", "--out", "out", "--quiet", *TOLERANT).status == 0
    said = run("report", "out", "--html", "page.html")
    assert said.status == 0, said.stderr
    page = (tmp_path / "page.html").read_text()
    assert "A plain lab" in page
    assert "interval = &#34;50 ms&#34;" in page  # the lab, as it was written
    assert "--set limits.rate_error=1" in page
    assert run("report", "out", "--charts", "charts").status == 0
    assert {path.suffix for path in (tmp_path / "charts").iterdir()} == {".png", ".svg", ".pdf"}
    assert run("compare", "out", "out").status == 0
