"""Help as in a manual page: `LAB` and `DIR ...` as typed, without Python types."""

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperOption

from bentpipe.cli.values import quickly_read

_FLAGS_ABOUT = ("--watch",)


class PlainCommand(TyperCommand):
    """A command whose help names no type."""

    def get_params(self, ctx: Any) -> Any:
        return without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Turns `--watch=WHAT` into `--watch WHAT`: a flag and an argument."""
        until = args.index("--") if "--" in args else len(args)
        before: list[str] = []
        for each in args[:until]:
            name, equals, value = each.partition("=")
            before += [name, value] if equals and value and name in _FLAGS_ABOUT else [each]
        return super().parse_args(ctx, [*before, *args[until:]])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer asks with a context
        arguments = [each for each in self.params if isinstance(each, TyperArgument)]
        return ["[OPTIONS]", *(each.display_name_raw for each in arguments)]


def without_types(parameters: Any) -> Any:
    """The same parameters without types, which the name or the text gives already."""
    for each in parameters:
        if isinstance(each, TyperArgument):
            each.display_type_rich = _nothing  # type: ignore[method-assign]
        elif isinstance(each, TyperOption) and each.is_flag:
            each.metavar = ""
    return quickly_read(parameters)


def _nothing(ctx: Any) -> str:  # noqa: ARG001 - typer asks with a context
    return ""
