"""`bentpipe doctor --watch` and `--exec`, on the loopback."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bentpipe.doctor.report_shape import Report
from busy_programs import CASES, Case, two_programs
from invocation import Command, started
from waiting import LONG_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux's")

TALK = """
import socket, sys, threading
with socket.create_server(("127.0.0.1", 0)) as listener:
    client = socket.create_connection(listener.getsockname())
    server = listener.accept()[0]
    for _ in range(30):
        threading.Thread(target=server.sendall, args=(bytes(100_000),)).start()
        left = 100_000
        while left:
            left -= len(client.recv(left))
        threading.Event().wait(0.02)
print("said by the command")
sys.exit(int(sys.argv[1]))
"""


def test_a_commands_output_goes_on_and_its_status_is_kept(tmp_path: Path) -> None:
    said = started(["doctor", "--exec", "--every", "10ms", "--", sys.executable, "-c", TALK, "7"], tmp_path)
    assert said.status == 7
    assert said.stdout == "said by the command\n"
    assert "seen from the sender" in said.stderr
    assert "seen from the receiver" in said.stderr


def test_with_json_the_object_alone_is_on_stdout(tmp_path: Path) -> None:
    command = ["--", sys.executable, "-c", TALK, "0"]
    said = started(["doctor", "--json", "--no-cures", "--exec", "--every", "10ms", *command], tmp_path)
    assert said.status == 0, said.stderr
    assert "said by the command" in said.stderr
    (found,) = said.objects
    Report.model_validate(found, strict=True)
    assert (found["source"], found["status"]) == ("exec", 0)
    assert {each["seen_from"] for each in found["transfers"]} == {"sender", "receiver"}
    for each in found["transfers"]:
        assert each["bytes"] == pytest.approx(3_000_000, abs=2)
        assert each["findings"]
    assert found["host"]["sysctl"]["net.ipv4.tcp_congestion_control"]
    assert found["watched"]["looks"] > 1


BURSTS = """
import socket, threading, time
with socket.create_server(("127.0.0.1", 0)) as server:
    client = socket.create_connection(server.getsockname())
    sender, _ = server.accept()
def send():
    for _ in range(50):
        sender.sendall(bytes(200_000))
        time.sleep(0.04)
    sender.close()
threading.Thread(target=send).start()
while client.recv(65536):
    pass
"""


def test_within_a_host_no_path_limits_a_receiver(tmp_path: Path) -> None:
    """A kernel takes the pauses of a program for round trips."""
    command = ["--exec", "--every", "20ms", "--", sys.executable, "-c", BURSTS]
    said = started(["doctor", "--json", "--no-cures", *command], tmp_path)
    (found,) = said.objects
    assert "127.0.0.1 is this host itself: no path is between the two ends." in found["remarks"]
    (received,) = (each for each in found["transfers"] if each["seen_from"] == "receiver")
    ours = {"sender-application", "pacing", "send-buffer", "slow-start", "receiver-application"}
    assert {each["kind"] for each in received["findings"]} <= ours


@pytest.mark.parametrize("case", CASES)
def test_a_command_that_needs_the_whole_processor_is_told_from_one_that_sleeps(
    tmp_path: Path, case: Case
) -> None:
    command = ["doctor", "--json", "--no-cures", "--exec", "--", *two_programs(tmp_path, case)]
    (found,) = started(command, tmp_path).objects
    (transfer,) = (each for each in found["transfers"] if each["seen_from"] == case.seen_from)
    first = transfer["findings"][0]
    assert first["kind"] == case.kind, first
    if case.kind == "cpu":
        assert first["evidence"]["program"] == Path(sys.executable).name
        assert first["evidence"]["processor_share"] >= 0.95


@pytest.mark.parametrize(("mode", "status"), [(None, 127), (0o600, 126)])
def test_a_command_that_cannot_be_started_has_a_shells_status(
    tmp_path: Path, mode: int | None, status: int
) -> None:
    program = tmp_path / "program"
    if mode is not None:
        program.write_text("#!/bin/sh\n")
        program.chmod(mode)
    said = started(["doctor", "--exec", "--", str(program)], tmp_path)
    assert said.status == status
    assert said.stderr.startswith(f"bentpipe: --exec: {program}: ")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_watch_and_what_was_seen_is_told_and_written(
    tmp_path: Path, by: signal.Signals
) -> None:
    command = [sys.executable, "-m", "bentpipe", "doctor", "--watch", "port:9", "--for", "1h", "--json"]
    command += ["--prometheus", "x.prom"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stderr is not None
        assert "Watching port 9 for" in watch.stderr.readline()
        watch.send_signal(by)
        out, err = watch.communicate(timeout=LONG_S)
    assert watch.returncode == 0, err
    assert json.loads(out)["transfers"] == []
    assert "bentpipe_doctor_transfers" in (tmp_path / "x.prom").read_text()


def test_a_sigterm_goes_on_to_the_command_that_is_watched(tmp_path: Path) -> None:
    waits = "import time; print('begun', flush=True); time.sleep(3600)"
    command = [sys.executable, "-m", "bentpipe", "doctor", "--exec", "--", sys.executable, "-c", waits]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline() == "begun\n"
        watch.send_signal(signal.SIGTERM)
        _, err = watch.communicate(timeout=LONG_S)
    assert watch.returncode == 128 + signal.SIGTERM
    assert "nothing can be told" in err


def test_the_metrics_are_written_also_when_there_was_nothing(run: Command, tmp_path: Path) -> None:
    said = run("doctor", "--watch=port:9", "--for", "20ms", "--every", "10ms", "--prometheus", "x.prom")
    assert said.status == 0
    assert "No connection that is watched was seen" in said.stdout
    assert 'bentpipe_doctor_transfers{source="watch",of="port:9"} 0' in (tmp_path / "x.prom").read_text()
