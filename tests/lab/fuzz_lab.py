"""Throws damaged labs and options at `Lab.load` for some seconds: nothing but `LabError` may come out.

Run as `python tests/lab/fuzz_lab.py [SECONDS] [SEED]`. Prints how many were tried, and what broke it.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from bentpipe.errors import LabError
from bentpipe.lab.load import Lab

HERE = Path(__file__).parent
VALUES = (
    *(
        "0",
        "-1",
        "1e400",
        "nan",
        "inf",
        "true",
        '""',
        '"5"',
        '"5 ms"',
        '"-5 ms"',
        '"1 bdp"',
        '"1e99 s"',
        "[]",
        "{}",
    ),
    *(
        '"unlimited"',
        '"100 kB"',
        "[1, 2, 3]",
        '[["1 s", "2 s"]]',
        "1979-05-27",
        "9" * 30,
        '{ rate = "1 kbit/s" }',
    ),
    *(
        '"16 Mbit/s"',
        '"\\u0000"',
        '"../../etc/passwd"',
        '{ discipline = "red" }',
        '"all"',
        '{ model = "trace" }',
    ),
)
KEYS = (
    "path.rtt",
    "path.rate.burst",
    "path.queue.limit",
    "workload.download.size",
    "host.sysctl.net.x",
    "sweep.x",
)


def damaged(text: str, random_: random.Random) -> bytes:
    """The text with a few lines, values or bytes changed, moved or gone."""
    lines = text.split("\n")
    for _ in range(random_.randint(1, 4)):
        at = random_.randrange(len(lines))
        match random_.randrange(6):
            case 0:
                del lines[at : at + random_.randint(1, 3)]
                lines = lines or [""]
            case 1:
                lines.insert(at, random_.choice(lines))
            case 2:
                lines[at] = f"{lines[at].split('=')[0]}= {random_.choice(VALUES)}"
            case 3:
                lines.insert(at, f"{random_.choice(lines).split('=')[0]}= {random_.choice(VALUES)}")
            case 4:
                lines[at] = lines[at].replace(
                    random_.choice("abdelmnrst=\"'[]{},"), random_.choice('xyz"[]{}=\n.'), 1
                )
            case _:
                random_.shuffle(lines)
    content = bytearray("\n".join(lines).encode())
    if random_.random() < 0.2 and content:
        content[random_.randrange(len(content))] = random_.randrange(256)
    return bytes(content)


def attempt(content: bytes, sets: list[str], file: Path) -> bool:
    """Loads a lab; whether it was legal. Lets through whatever is no `LabError`."""
    file.write_bytes(content)
    try:
        Lab.load(file, set=sets).points()
    except LabError as error:
        assert "; " in str(error)
        assert "\n" not in str(error)
        return False
    return True


def main(seconds: float, seed: int) -> int:
    """Fuzzes for some seconds; 1 if anything broke."""
    random_ = random.Random(seed)
    texts = [(HERE / "contract.toml").read_text(encoding="utf-8").replace("repeat    = 3", "")]
    texts += [file.read_text(encoding="utf-8") for file in (HERE.parents[1] / "labs").glob("*.toml")]
    tried = legal = 0
    until = time.process_time() + seconds
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fuzz.toml"
        while time.process_time() < until:
            content = damaged(random_.choice(texts), random_)
            sets = []
            if random_.random() < 0.3:
                sets.append(f"{random_.choice(KEYS)}={random_.choice(VALUES)}")
            try:
                legal += attempt(content, sets, file)
            except Exception:
                print(
                    f"after {tried} labs (seed {seed}), with {sets}, this one broke it:\n{content!r}",
                    file=sys.stderr,
                )
                raise
            tried += 1
    print(
        f"{tried} damaged labs in {seconds:g} s: {legal} were legal, {tried - legal} were told what is wrong"
    )
    return 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(float(arguments[0]) if arguments else 60.0, int(arguments[1]) if len(arguments) > 1 else 1))
