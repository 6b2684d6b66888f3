"""`make check-container`: the image of the gateway, built by buildah; near and far run from it in namespaces.

A user at the client fetches through near's SOCKS5, by address and by a name that far's container resolves,
and gets every byte. Both daemons end at SIGTERM. Whether they ran from the image and as its user is looked up
in /proc. buildah runs them with the isolation `chroot`, which needs no runtime, no cgroup and no Docker.

Needs Linux, root, buildah, curl and dist/gateway-root.tar, which scripts/container makes.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from hosts import SERVER, Hosts, WrongError, wait_for

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "bentpipe-gateway"
USER = 65532
NAME = "files.example"
SIZE = 3_000_000


class Image:
    """In a storage of its own."""

    def __init__(self, storage: Path) -> None:
        self._buildah = ["buildah", "--root", storage / "root", "--runroot", storage / "run"]
        self._buildah += ["--storage-driver", "vfs"]

    def do(self, *command: str | Path) -> str:
        done = subprocess.run([*self._buildah, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise WrongError(f"buildah {command[0]} failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def build(self) -> None:
        recipe = ROOT / "packaging" / "Containerfile"
        self.do("build", "--isolation", "chroot", "--file", recipe, "--tag", IMAGE, ROOT / "dist")

    def run(self, folder: Path, *command: str) -> list[str | Path]:
        """The command line of the image's program in a new container. `folder` is its /etc/bentpipe."""
        container = self.do("from", "--pull-never", "--add-host", f"{NAME}:{SERVER}", IMAGE)
        # `buildah run` has no entrypoint: an image's is for those who start containers.
        inside = ["/usr/bin/bentpipe-gateway", *command]
        mount = f"{folder}:/etc/bentpipe:ro"
        return [*self._buildah, "run", "--isolation", "chroot", "-v", mount, container, "--", *inside]


def descendants(pid: int) -> list[int]:
    """Any thread of a program may have started them."""
    found: list[int] = []
    for told in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, told.read_text().split()):
                found += [child, *descendants(child)]
    return found


def daemon_of(pid: int) -> int | None:
    """The gateway that a `buildah run` started."""
    for each in descendants(pid):
        command = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
        if Path(os.fsdecode(command[0])).name == "bentpipe-gateway":
            return each
    return None


def require_in_image(name: str, pid: int | None) -> None:
    if f"Uid:\t{USER}\t{USER}\t" not in Path(f"/proc/{pid}/status").read_text():
        raise WrongError(f"{name} does not run as {USER}")
    beside = [each.name for each in Path(f"/proc/{pid}/root/usr").iterdir()]
    if beside != ["bin"]:
        raise WrongError(f"{name} does not run in the image: /usr has {beside}")


def check(folder: Path, storage: Path, world: Hosts) -> None:
    image = Image(storage)
    image.build()
    print(f"the image: {image.do('images', '--noheading', '--format', '{{.Size}}', IMAGE)}")
    world.build()
    world.join("near", "wan", "far", "wan")
    world.addresses()
    world.write_configurations(
        "198.18.0.2:4433",
        near='[path]\nrate = "50 Mbit/s"\n[listen]\nsocks5 = ["10.1.0.1:1080"]\n',
        far='[path]\nrate = "50 Mbit/s"\n',
    )
    for each in folder.iterdir():
        os.chown(each, USER, USER)
    folder.chmod(0o755)
    running = {}
    for name in ("far", "near"):
        command = image.run(folder, name, "--config", f"/etc/bentpipe/{name}.toml")
        running[name] = world.begin(name, f"{name}.log", *command)
    served = folder / "served"
    served.mkdir()
    (served / "file").write_bytes(os.urandom(SIZE))
    web = [sys.executable, "-m", "http.server", "8080", "--bind", SERVER, "--directory", served]
    server = world.begin("server", "server.log", *web)
    try:
        wait_for("both daemons", lambda: all(daemon_of(each.pid) for each in running.values()))
        daemons = {name: daemon_of(process.pid) for name, process in running.items()}
        for name, pid in daemons.items():
            require_in_image(name, pid)
        for host in (SERVER, NAME):
            got = folder / f"got-{host}"
            fetch = ["curl", "--silent", "--fail", "--retry", "9", "--retry-all-errors", "--retry-delay", "1"]
            fetch += ["--socks5-hostname", "10.1.0.1:1080", "--output", got, f"http://{host}:8080/file"]
            world.do("client", *fetch, within_s=60)
            if got.read_bytes() != (served / "file").read_bytes():
                raise WrongError(f"http://{host} brought other bytes")
            print(f"{SIZE} bytes came whole from http://{host} through both containers")
        for name, pid in daemons.items():
            assert pid
            os.kill(pid, signal.SIGTERM)
            if status := running[name].wait(15):
                raise WrongError(f"{name} ended with {status} at SIGTERM")
        print("both daemons ran as the image's user, and ended at SIGTERM")
    finally:
        for each in (server, *running.values()):
            for pid in (*descendants(each.pid), each.pid) if each.poll() is None else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            each.wait()


def main() -> int:
    missing = [each for each in ("buildah", "curl", "ip") if not shutil.which(each)]
    if os.geteuid() or missing or not (ROOT / "dist/gateway-root.tar").exists():
        needs = "root, buildah, curl, ip, and dist/gateway-root.tar of scripts/container"
        print(f"check-container: this needs {needs}", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="bentpipe-container-"))
    storage = Path(tempfile.mkdtemp(prefix="bentpipe-images-"))
    program = next((ROOT / "target").glob("*-musl/release/bentpipe-gateway"))
    world = Hosts(program, folder)
    try:
        check(folder, storage, world)
    except WrongError as error:
        logs = "\n".join(each.read_text()[-800:] for each in folder.glob("*.log"))
        print(f"check-container: {error}\n{logs}", file=sys.stderr)
        return 1
    finally:
        world.end()
        shutil.rmtree(folder)
        shutil.rmtree(storage, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
