"""A command of a lab changes nothing on the machine and reaches none of its services and processes."""

import os
import platform
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hosting import Host

from waiting import wait_for

pytestmark = pytest.mark.live
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may write there")


def inside(host: Host, script: str, argv: Sequence[str] | None = None, **spawn: Any) -> str:
    """What a shell script, or another command, says in a sandbox at the client, on stdout and stderr."""
    name = f"script {time.monotonic_ns()}"
    argv = argv or ["sh", "-c", f"exec 2>&1\n{script}"]
    spawned = host.spawn(name, "client", argv, sandbox=True, **spawn)
    assert spawned["event"] == "spawned", spawned
    assert host.hear()["event"] == "exited"
    return (host.raw_folder / f"{name}.out").read_text()


@pytest.fixture(params=["in /tmp", "elsewhere"])
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder with a key and a working folder in it."""
    if request.param == "elsewhere" and os.geteuid() != 0:
        pytest.skip("only root may write elsewhere")
    with tempfile.TemporaryDirectory(dir="/opt" if request.param == "elsewhere" else "/tmp") as name:
        place = Path(name)
        (place / "work").mkdir()
        (place / "key").write_text("secret")
        (place / "work" / "data").write_text("wanted")
        for each in (place, place / "work"):
            each.chmod(0o777)
        monkeypatch.setenv("HOME", name)
        yield place


def test_home_and_tmp_are_empty_and_what_is_written_there_stays_inside(user: str, home: Path) -> None:
    with Host(user) as host:
        host.setup()
        said = inside(
            host,
            "cat $HOME/key; ls -A $HOME /var/tmp /run; echo x >$HOME/x && echo y >/tmp/y; cat $HOME/x /tmp/y",
        )
        again = inside(host, "cat $HOME/x /tmp/y")
    assert "secret" not in said
    assert said.endswith("x\ny\n")
    assert again.count("No such file") == 2
    assert sorted(each.name for each in home.iterdir()) == ["key", "work"]
    assert not Path("/tmp/y").exists()


def test_the_working_folder_is_shown_and_cannot_be_changed(user: str, home: Path) -> None:
    with Host(user) as host:
        host.setup()
        said = inside(host, "pwd; cat data; echo x >data; ls -A ..", cwd=str(home / "work"))
    assert said.startswith(f"{home}/work\nwanted")
    assert "Read-only file system" in said
    assert said.endswith("\nwork\n")
    assert (home / "work" / "data").read_text() == "wanted"


def test_nothing_of_the_machines_can_be_written(user: str) -> None:
    places = ["/etc", "/usr", "/", "/var", "/opt"]
    with Host(user) as host:
        host.setup()
        said = inside(host, "\n".join(f"touch {each}/bentpipe-test" for each in places))
        kernel = inside(host, "echo 1 >/proc/sys/kernel/panic; echo 1 >/sys/kernel/mm/ksm/run")
        remounted = inside(
            host,
            "mount -o remount,rw /; mount -o remount,bind,rw /; umount /tmp; umount /dev\n"
            "mknod /tmp/disk b 254 0\n"
            "unshare -Urm sh -c 'mount -o remount,bind,rw /; umount /tmp; umount /run'\n"
            "touch /etc/bentpipe-test && echo written",
        )
    assert said.count("Read-only file system") == len(places)
    assert kernel.count("Read-only file system") + kernel.count("cannot create") >= 2
    assert "written" not in remounted
    assert not Path("/etc/bentpipe-test").exists()


def test_the_machines_services_are_out_of_reach(user: str) -> None:
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind("\0bentpipe-test")
        abstract.listen()
        paths = []
        for folder in ("/tmp", "/var/tmp", *(["/run"] if os.geteuid() == 0 else [])):
            path = f"{folder}/bentpipe-test-{os.getpid()}"
            served = stack.enter_context(socket.socket(socket.AF_UNIX))
            served.bind(path)
            stack.callback(os.unlink, path)
            Path(path).chmod(0o777)
            served.listen()
            paths.append(path)
        script = "import socket\n"
        for family, address in (
            ("AF_INET", repr(tcp.getsockname())),
            ("AF_UNIX", repr("\0bentpipe-test")),
            *(("AF_UNIX", repr(path)) for path in paths),
        ):
            script += f"print(socket.socket(socket.{family}).connect_ex({address}) == 0)\n"
        # As every process outside, this one reaches them.
        assert socket.socket(socket.AF_UNIX).connect_ex(paths[0]) == 0
        with Host(user) as host:
            host.setup()
            said = inside(host, "", ["/usr/bin/python3", "-c", script])
    assert said.split() == ["False"] * (2 + len(paths))


def test_no_process_of_the_run_or_the_machine_is_seen(user: str) -> None:
    with Host(user) as host:
        host.setup()
        host.spawn("other", "client", ["sleep", "1000"])
        said = inside(host, "cat /proc/[0-9]*/cmdline; kill -9 -1")
        host.say("signal", id="other", signal=int(signal.SIGINT))
        ended = host.hear()
    assert "cmdline" in said
    assert "sleep" not in said
    assert (ended["id"], ended["signal"]) == ("other", signal.SIGINT)


def test_it_has_two_capabilities_and_gains_none(user: str) -> None:
    with Host(user) as host:
        host.setup()
        said = inside(host, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status; ls /dev")
    status = dict(line.split(":\t") for line in said.splitlines() if ":\t" in line)
    net_bind_service_and_raw = f"{1 << 10 | 1 << 13:016x}"
    assert status["CapEff"] == status["CapPrm"] == status["CapBnd"] == net_bind_service_and_raw
    assert status["NoNewPrivs"] == "1"
    devices = [line for line in said.splitlines() if ":\t" not in line]
    expected = {"fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}
    assert {"null", "urandom"} <= set(devices) <= expected


REFUSED = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    failed = getattr(libc, name)(*arguments) == -1
    print(name, os.strerror(ctypes.get_errno()) if failed else "done")
def system_call(number, *arguments):
    call("syscall", number, *arguments)
"""


def test_key_rings_of_the_machine_are_out_of_reach(user: str) -> None:
    # The numbers of the kernel's own interface, on x86-64 and elsewhere.
    add_key, keyctl = (248, 250) if platform.machine() == "x86_64" else (217, 219)
    of_user = -4
    script = REFUSED + (
        f"system_call({add_key}, b'user', b'bentpipe-test', b'x', 1, {of_user})\n"
        f"system_call({keyctl}, 0, {of_user}, 0)\n"
    )
    with Host(user) as host:
        host.setup()
        said = inside(host, "", ["/usr/bin/python3", "-c", script])
    assert said.splitlines() == ["syscall Operation not permitted"] * 2


def test_sockets_that_no_network_namespace_divides_are_refused(user: str) -> None:
    script = "import socket\nfor family in (socket.AF_INET, socket.AF_VSOCK, socket.AF_ALG):\n"
    script += "  try: print(socket.socket(family, 5 if family == socket.AF_ALG else 1).family.name)\n"
    script += "  except OSError as error: print(error.strerror)\n"
    with Host(user) as host:
        host.setup()
        said = inside(host, "", ["/usr/bin/python3", "-c", script])
    assert said.splitlines() == ["AF_INET", *["Operation not permitted"] * 2]


def test_a_file_that_it_writes_never_gives_its_owners_rights_to_others(user: str) -> None:
    script = REFUSED + (
        "call('fchmod', 1, 0o4755)\ncall('chmod', b'/proc/self/fd/1', 0o2755)\ncall('fchmod', 1, 0o640)\n"
        "call('fchmodat', -100, b'/proc/self/fd/1', 0o6755, 0)\n"
        "print(oct(os.fstat(1).st_mode & 0o7777))\n"
    )
    with Host(user) as host:
        host.setup()
        said = inside(host, "", ["/usr/bin/python3", "-c", script])
    no = "Operation not permitted"
    assert said.splitlines() == [f"fchmod {no}", f"chmod {no}", "fchmod done", f"fchmodat {no}", "0o640"]


@AS_ROOT
def test_the_homes_of_others_are_empty_too(user: str) -> None:
    with tempfile.TemporaryDirectory(dir="/home") as name, Host(user) as host:
        Path(name).chmod(0o755)
        (Path(name) / "key").write_text("secret")
        host.setup()
        said = inside(host, f"cat {name}/key; ls -A /home")
    assert "secret" not in said
    assert said.splitlines()[1:] == []


def test_what_the_caller_has_in_its_environment_is_not_handed_on(
    user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with Host(user) as host:
        host.setup()
        said = inside(host, "env")
    assert "secret" not in said
    assert "PATH=" in said


def test_the_path_is_there_as_for_any_program(user: str) -> None:
    with Host(user) as host:
        host.setup()
        host.start()
        assert "1 received" in inside(host, "ping -c 1 server")


@pytest.mark.parametrize(("script", "end"), [("exit 7", {"status": 7}), ("kill -9 $$", {"signal": 9})])
def test_it_ends_as_its_command_does(user: str, script: str, end: dict[str, int]) -> None:
    with Host(user) as host:
        host.setup()
        host.spawn("it", "client", ["sh", "-c", script], sandbox=True)
        ended = host.hear()
    assert {key: ended[key] for key in end} == end


def test_an_interrupt_is_the_commands(user: str) -> None:
    with Host(user) as host:
        host.setup()
        trapping = "trap 'exit 5' INT; echo ready; while :; do sleep 0.1; done"
        for name, script in (("it", trapping), ("plain", "echo ready; exec sleep 1000")):
            host.spawn(name, "client", ["sh", "-c", script], sandbox=True)
            out = host.raw_folder / f"{name}.out"
            assert wait_for(lambda out=out: "ready" in out.read_text())
        for name in ("it", "plain"):
            host.say("signal", id=name, signal=int(signal.SIGINT))
        ends = {ended["id"]: ended for ended in (host.hear(), host.hear())}
    assert ends["it"]["status"] == 5
    assert ends["plain"]["signal"] == signal.SIGINT


def test_a_command_that_is_hidden_is_said_to_be(user: str, home: Path) -> None:
    program = home / "program"
    shutil.copy("/bin/true", program)
    program.chmod(0o755)
    with Host(user) as host:
        host.setup()
        ended = host.spawn("it", "client", [str(program)], sandbox=True)
    assert ended["event"] == "exited"
    assert "sees the home folder" in ended["error"]
