"""The group of all commands: loads the called one, and turns errors into a message and an exit status."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from bentpipe.cli import answers, typed
from bentpipe.cli.commands import COMMANDS, Entry
from bentpipe.cli.declared import for_typer
from bentpipe.cli.plain_help import PlainCommand, without_types
from bentpipe.cli.usage import usage_message

FIRST_STEPS = """\
A download over a long path is slow. What does the path allow?
  bentpipe calc --rate 16Mbit/s --rtt 550ms

See it packet by packet, in virtual time, on any machine:
  bentpipe labs                      the experiments that come with bentpipe
  bentpipe run effects-of-latency    run one of them
  bentpipe new my.toml               write a lab of your own path: five questions

What should this host set for such a path? It changes nothing:
  bentpipe tune --rate 16Mbit/s --rtt 550ms

Then look at the newest runs:
  bentpipe explain                   what limited each transfer
  bentpipe report                    a table, and a page with charts

All commands and options: bentpipe --help"""
"""What `bentpipe` alone says."""

# Typer keeps the class to itself, but not this child of it.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class _Listed(TyperCommand):
    """A command in a list: its name and its line."""

    def __init__(self, name: str, entry: Entry) -> None:
        super().__init__(name, help=entry.line)

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002 - the line is never cut
        return self.help or ""


class Commands(TyperGroup):
    """Loads a command's module only when the command is called."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.commands = {name: _Listed(name, entry) for name, entry in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and loaded(str(name)), rest

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **named: Any) -> Any:
        if not args and not named.get("resilient_parsing"):  # which completion asks for
            print(FIRST_STEPS, file=sys.stderr)
            sys.exit(answers.WRONG)
        try:
            typed.words = tuple(args)
            return super().make_context(info_name, args, *more, **named)
        except _UsageError as error:
            answers.fail(_usage(error, "bentpipe", args), answers.WRONG)

    def get_params(self, ctx: Any) -> Any:
        return without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            with answers.to_errors(ctx.invoked_subcommand):
                return super().invoke(ctx)
        except _UsageError as error:
            command = f"bentpipe {ctx.invoked_subcommand or ''}".strip()
            answers.fail(_usage(error, command, typed.words), answers.WRONG)


def loaded(name: str) -> Any:
    """The command of that name, with its options."""
    entry = COMMANDS[name]
    function = getattr(import_module(f"bentpipe.cli.{entry.module}"), entry.function)
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    settings = {"ignore_unknown_options": True, "help_option_names": []} if entry.hands_over else None
    alone.command(name, cls=PlainCommand, context_settings=settings)(for_typer(function))
    return get_command(alone)


def _usage(error: Any, command: str, typed: Sequence[str]) -> str:
    said = usage_message(error, typed)
    return f"bentpipe: {said}{'' if said.endswith('?') else '.'} See {command} --help"
