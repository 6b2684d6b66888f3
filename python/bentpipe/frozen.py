"""Small frozen classes for modules that every start loads. They replace `@dataclass(frozen=True)`.

The module `dataclasses` loads `inspect` and compiles a text for each class. This takes too long at the start.
"""

from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """The annotated names are the fields; a value in the class is a default. Equal where all fields are."""
    names = tuple(cls.__annotations__)
    known = set(names)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}

    def begin(self: object, *values: Any, **named: Any) -> None:
        found = {**defaults, **dict(zip(names, values, strict=False)), **named}
        if (
            found.keys() != known
            or len(values) > len(names)
            or not named.keys().isdisjoint(names[: len(values)])
        ):
            raise TypeError(f"{cls.__name__} takes {', '.join(names)}, each once")
        self.__dict__.update(found)

    def values_of(self: object) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name in names)

    def is_equal(self: object, other: object) -> bool:
        return values_of(self) == values_of(other) if type(other) is type(self) else NotImplemented

    def shown(self: object) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in names)})"

    def refuse(_self: object, name: str, *_value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    methods = {
        "__init__": begin,
        "__eq__": is_equal,
        "__hash__": lambda self: hash(values_of(self)),
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__match_args__": names,
    }
    if "__repr__" not in cls.__dict__:
        methods["__repr__"] = shown
    for name, method in methods.items():
        setattr(cls, name, method)
    return cls
