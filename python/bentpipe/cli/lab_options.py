"""The arguments and options of every command that takes a lab."""

from typing import Annotated, Any

from bentpipe.cli.declared import Argument, Option

_LAB = Argument(
    metavar="LAB",
    help="A lab file, or the name of a lab that comes with bentpipe.",
    autocompletion="completion.labs",
)
LabArgument = Annotated[str, _LAB]
LabOrNone = Annotated[str | None, _LAB]
SetOption = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key of the lab; repeatable. A swept key then has only this value.",
    ),
]
VariantOption = Annotated[
    list[str] | None,
    Option(
        "--variant",
        metavar="NAME",
        help="Only this variant; repeatable.",
        autocompletion="completion.variants",
    ),
]
SeedOption = Annotated[
    int | None,
    Option("--seed", metavar="N", help="Seed of the random numbers; each further repeat adds 1."),
]


def load(name: str, set_: list[str] | None, **more: Any) -> Any:
    from bentpipe.lab.load import Lab

    return Lab.load(name, set=set_ or (), **more)
