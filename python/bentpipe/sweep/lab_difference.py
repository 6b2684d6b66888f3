"""The difference between the lab of a folder of runs and the requested lab, in words.

Both are given as lab.json has them: the text of the file, and the options that changed it. Settings are
compared by their dotted keys, as a user would write them after `--set`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from bentpipe.lab.grid.changes import overlap, parse_set
from bentpipe.words.faults import shown

_NAMED = 3
_NO_SETTING = ("title", "published", "seed", "repeat")
"""A folder takes runs whatever these are."""


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """ "path.rtt is "550 ms" there and "30 ms" here", for up to three settings."""
    if there.get("engine") != here.get("engine"):
        return f"the engine is {there.get('engine')} there and {here.get('engine')} here"
    try:
        one, other = _settings(there), _settings(here)
    except (KeyError, ValueError, TypeError, AttributeError):
        return "its lab.json cannot be read"
    keys = [key for key in {**other, **one} if one.get(key) != other.get(key)]
    if not keys:
        return (
            "the settings are the same, but another version of bentpipe read them, "
            "or a file that the lab names has changed"
        )
    named = [f"{key} is {_value(one, key)} there and {_value(other, key)} here" for key in keys[:_NAMED]]
    more = f"; {len(keys) - _NAMED} more settings differ" if len(keys) > _NAMED else ""
    return f"{'; '.join(named)}{more}"


def _settings(lab: Mapping[str, Any]) -> dict[str, Any]:
    """Each setting of the lab by its dotted key, with the options over it."""
    document = tomllib.loads(lab["document"])
    found = dict(_flat("", {key: value for key, value in document.items() if key not in _NO_SETTING}))
    chosen = []
    for option in lab["options"]:
        name, _, text = option.partition(" ")
        if name == "--variant":
            chosen.append(text)
        elif name == "--set":
            key, value = parse_set(text, option)
            swept = f"sweep.{key}"
            if key not in _NO_SETTING:
                found = {each: found[each] for each in found if not overlap(each, key) and each != swept}
                found |= dict(_flat(key, value))
    return found | ({"--variant": sorted(chosen)} if chosen else {})


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    below = f"{key}." if key else ""
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _flat(f"{below}{name}", each)
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        for number, each in enumerate(value):
            name = each.get("name", each.get("kind", number))
            yield from _flat(f"{below}{name}", {key: each[key] for key in each if key != "name"})
    else:
        yield key, value


def _value(settings: Mapping[str, Any], key: str) -> str:
    return shown(settings[key]) if key in settings else "not set"
