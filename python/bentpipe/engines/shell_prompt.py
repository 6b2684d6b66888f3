"""How an interactive shell is started so that its prompt begins with the host and the lab: `[client geo] ~$`.

bash, zsh and fish read the user's own startup files first; the words are put before the prompt that these
made. Other shells are given a plain PS1 in their environment.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

_BASH = """
[ -r /etc/bash.bashrc ] && . /etc/bash.bashrc
[ -r ~/.bashrc ] && . ~/.bashrc
__bentpipe_prompt() { case $PS1 in "$BENTPIPE_PROMPT"*) ;; *) PS1=$BENTPIPE_PROMPT$PS1 ;; esac; }
PROMPT_COMMAND=("${PROMPT_COMMAND[@]}" __bentpipe_prompt)
"""
_ZSHENV = """
BENTPIPE_ZDOTDIR_OURS=$ZDOTDIR
ZDOTDIR=${BENTPIPE_ZDOTDIR:-$HOME}
[[ -r $ZDOTDIR/.zshenv ]] && source $ZDOTDIR/.zshenv
BENTPIPE_ZDOTDIR=${ZDOTDIR:-$HOME}
ZDOTDIR=$BENTPIPE_ZDOTDIR_OURS
"""
_ZSHRC = """
ZDOTDIR=$BENTPIPE_ZDOTDIR
unset BENTPIPE_ZDOTDIR BENTPIPE_ZDOTDIR_OURS
[[ -r $ZDOTDIR/.zshrc ]] && source $ZDOTDIR/.zshrc
__bentpipe_prompt() { [[ $PROMPT == "$BENTPIPE_PROMPT"* ]] || PROMPT=$BENTPIPE_PROMPT$PROMPT }
precmd_functions+=(__bentpipe_prompt)
"""
_FISH = """
functions --query fish_prompt; and functions --copy fish_prompt __bentpipe_own_prompt
function fish_prompt
    printf '%s' "$BENTPIPE_PROMPT"
    functions --query __bentpipe_own_prompt; and __bentpipe_own_prompt
end
"""


@dataclass(frozen=True)
class Start:
    """A shell's command line, and what is laid over its environment."""

    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)


def interactive(shell: str, folder: Path, *, host: str, lab: str) -> Start:
    """The shell with our words before its prompt; its startup files lie in `folder` as long as it runs."""
    # A prompt is expanded: of a lab's name only harmless letters are shown.
    prompt = f"[{host} {re.sub(r'[^A-Za-z0-9._-]+', '-', lab)}] "
    env = {"BENTPIPE_PROMPT": prompt}
    match Path(shell).name:
        case "bash":
            (folder / "bashrc").write_text(_BASH)
            return Start([shell, "--rcfile", str(folder / "bashrc"), "-i"], env)
        case "zsh":
            (folder / ".zshenv").write_text(_ZSHENV)
            (folder / ".zshrc").write_text(_ZSHRC)
            own = {"BENTPIPE_ZDOTDIR": os.environ["ZDOTDIR"]} if "ZDOTDIR" in os.environ else {}
            return Start([shell, "-i"], env | own | {"ZDOTDIR": str(folder)})
        case "fish":
            return Start([shell, "-i", "-C", _FISH], env)
        case _:
            return Start([shell], env | {"PS1": f"{prompt}{'#' if os.geteuid() == 0 else '$'} "})
