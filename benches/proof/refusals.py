"""Destinations that far refuses: each is refused, logged and counted, and nobody there is reached."""

import sys
from typing import Any

from hosts import HERE, SERVER, WrongError, wait_for
from talk import ECHO, REBINDS
from world import NEAR, SOCKS_PORT, World

CLOSED = [
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",
    "10.9.0.2",
    "10.1.0.2",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "169.254.0.1",
    "198.18.0.2",
    "224.0.0.1",
    "255.255.255.255",
    # Far's own public address.
    "203.0.114.1",
    "[::1]",
    "[::]",
    "[fe80::1]",
    "[fd00:9::2]",
    "[fd00:ec2::254]",
    "[2a0e:b107:1::1]",
    "[ff02::1]",
    # IPv4 inside IPv6: mapped, compatible, NAT64 (RFC 6052 and 8215), 6to4.
    "[::ffff:127.0.0.1]",
    "[::ffff:10.9.0.2]",
    "[::ffff:169.254.169.254]",
    "[::ffff:203.0.114.1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::a09:2]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::cb00:7201]",
    "[64:ff9b:1::a09:2]",
    "[2002:a09:2::1]",
    "[2002:7f00:1::]",
]


def _refused(world: World) -> int:
    return int(world.status("far")["destinations_refused"])


def _tried(world: World, places: list[str], expected: list[str]) -> int:
    """Asks for these places, one after another, while somebody listens at far."""
    log = world.folder / "victims.log"
    log.unlink(missing_ok=True)
    victims = world.begin("far", log.name, sys.executable, HERE / "talk.py", "victims")
    try:
        wait_for("a victim", lambda: log.exists() and "ready" in log.read_text())
        before = _refused(world)
        said: list[Any] = world.python("client", "ask", f"{NEAR}:{SOCKS_PORT}", *places)
        answers = zip(places, said, expected, strict=True)
        wrong = [(place, answer) for place, answer, right in answers if answer != right]
        if wrong:
            raise WrongError(f"{len(wrong)} of {len(places)}: {wrong[0][0]} answers {wrong[0][1]!r}")
        closed, counted = expected.count("reset"), _refused(world) - before
        if counted != closed:
            raise WrongError(f"{closed} were refused, and {counted} counted")
        logged = (world.folder / "far.log").read_text().count("refused a connection")
        if logged < before + closed:
            raise WrongError(f"{before + closed} were refused, and {logged} logged")
        if "reached" in log.read_text():
            raise WrongError("somebody at far was reached")
    finally:
        victims.kill()
        victims.wait()
    return 0


def destinations(world: World, _: float) -> int:
    """A public one is reached, the others are not."""
    places = [f"{place}:{ECHO}" for place in [SERVER, *CLOSED]]
    return _tried(world, places, ["hello"] + ["reset"] * len(CLOSED))


def rebinding(world: World, _: float) -> int:
    """A name has a public address at first, and another one when it is asked for again."""
    names = [f"rebind{number}.example:{ECHO}" for number in range(len(REBINDS))]
    inside = [f"inside.example:{ECHO}", f"both.example:{ECHO + 1000}"]
    expected = ["hello"] * len(names) + ["reset"] * (len(names) + len(inside))
    return _tried(world, [*names, *names, *inside], expected)
