"""Programs in TypeScript, bundled and run by node."""

import subprocess
from pathlib import Path


def ran(root: Path, program: Path, folder: Path, *arguments: str) -> None:
    """Bundles a TypeScript program into `folder` and runs it."""
    bundle = folder / f"{program.stem}.mjs"
    esbuild = root / "node_modules/.bin/esbuild"
    how = ("--bundle", "--platform=node", "--format=esm", "--log-level=warning", f"--outfile={bundle}")
    for command in ([str(esbuild), str(program), *how], ["node", str(bundle), *arguments]):
        ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
