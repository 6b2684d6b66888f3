"""Shell completion of arguments. A lab that cannot be read gives no suggestions."""

import os
import tomllib
from pathlib import Path

import typer

from bentpipe.lab.first_lab import WORKS
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.shipped import shipped_labs


def labs(incomplete: str) -> list[str]:
    """Shipped labs, and lab files that lie here. Where none fits, the shell completes files itself."""
    here = [] if "/" in incomplete else sorted(file.name for file in Path().glob("*.toml"))
    return [name for name in (*shipped_labs(), *here) if name.startswith(incomplete)]


def variants(context: typer.Context, incomplete: str) -> list[str]:
    """The variants of the lab that was typed before."""
    # An option that still wants its value stops the parsing before arguments are given their names.
    lab = str(context.params.get("lab") or next(iter(context.args), ""))
    try:
        written = tomllib.loads(shipped_labs().get(lab, Path(lab)).read_text(encoding="utf-8"))
        names = ["as is", *(str(each["name"]) for each in written.get("variant", []))]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []
    return [_quoted(name) for name in names if name.startswith(incomplete)]


def presets(incomplete: str) -> list[str]:
    """Known paths."""
    return [name for name in PRESETS if name.startswith(incomplete)]


def works(incomplete: str) -> list[str]:
    """What a first lab's hosts can do."""
    return [name for name in WORKS if name.startswith(incomplete)]


def _quoted(name: str) -> str:
    """As it must be typed: bash takes what is offered as it is, other shells quote it themselves."""
    in_bash = os.environ.get("_BENTPIPE_COMPLETE", "").endswith("_bash")
    return name.replace(" ", "\\ ") if in_bash else name
