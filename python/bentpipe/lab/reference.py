"""Writes the lab file's reference page and its JSON schema from the models: `python -m
bentpipe.lab.reference [DOCS]`.

A test compares the committed files with what this writes, so the page cannot fall behind the models.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bentpipe.lab.models.host import SYSCTL_FIELDS
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.schema import Schema, json_schema
from bentpipe.lab.units import RATE_UNITS, SIZE_UNITS, TIME_UNITS

PAGE = "lab-file.md"
SCHEMA = "lab.schema.json"

_INTRODUCTION = """\
# The lab file

<!-- Written by `python -m bentpipe.lab.reference`, from the models; change it there. -->

A lab is a TOML file. It describes the path, the hosts, the work, and the changes to try:

```toml
title    = "GEO satellite, one download"
duration = "60 s"

[path]
rtt   = "550 ms"
rate  = "16 Mbit/s"
queue = "100 kB"

[[workload]]
name = "download"
kind = "bulk"

[[variant]]
name = "bbr"
set  = { "host.congestion_control" = "bbr" }
```

`bentpipe run LAB` takes a file, or the name of a lab that comes with bentpipe (`bentpipe labs` lists them).
The whole lab is checked before anything runs: every point of the sweep and every variant. An error is one
message on stderr. It names the file and line (or the option), the key, what was found and what was expected.
The exit status is then 2.

`bentpipe schema` prints a JSON schema for editors; it is also in [lab.schema.json](lab.schema.json).
Save it beside a lab, and begin the lab with `#:schema ./lab.schema.json`. Editors that use taplo then
complete and check the lab.
"""

_UNITS = """\
## Values with units

| form | written | units |
|---|---|---|
| time | `"550 ms"` | {times} |
| size | `"100 kB"` | {sizes}: decimal prefixes are powers of 1000, binary ones of 1024 |
| rate | `"16 Mbit/s"` | {rates}: `B/s` is eight `bit/s` |
| probability | `0.001` | none: 0 to 1, not a percentage |

`Mbps`, `Mbit` and `mbit` mean `Mbit/s`; the same holds for `k`, `G` and `T`. (In `tc`, `mbps` means megabytes
per second.) `16M` and `16 Mb/s` are refused, because they may mean bits or bytes.

A quantity without a unit is an error. So is a value finer than a nanosecond, a byte or a bit/s: values are
read exactly and never rounded. Buffers (`tcp_rmem`, `tcp_wmem`) are the exception: they are plain numbers of
bytes, as in the sysctls.
"""

_GRID = """\
## Sweeps and variants

`[sweep]`, `[[variant]]` and the option `--set` set **dotted keys** of the lab: `path.rtt`,
`path.down.loss`, `host.tcp_rmem`, `workload.NAME.size`, `client.initcwnd`, `repeat`. The key need not be in
the file, but it must be on this page. A key in its short form (`rate = "16 Mbit/s"`) becomes a table if a
dotted key is below it. So `path.queue.discipline` can be swept in a lab that has `queue = "100 kB"`.

- `[sweep]` is a grid: every combination of its values is run, `repeat` times each. A list is an axis with
  values of that key. A table is a **named axis**: each of its entries is a set of changes. Points, tables
  and charts show the entries' names. The axis's own name may not be a key of the lab. No two axes may change
  the same key.
- `[[variant]]` names a set of changes. Every variant is run at every point of the sweep, or only at the
  values in its `only`. The plain lab is the variant `as is`, and is always included. A variant may not
  change a key that is swept at its points.
- `--variant NAME` runs only this variant (repeatable). `--variant "as is"` runs only the plain lab.
- `--set KEY=VALUE` changes the key at every point, whatever a variant says. If the key is swept, it has only
  that value. `--set AXIS=NAME` does the same for a named axis. The value is read as TOML, or as a text if
  it is not TOML, so `--set path.rtt="30 ms"` needs no inner quotes.

```toml
[sweep]
"workload.download.direction" = ["down", "up"]
[sweep.orbit]
GEO = { "path.rtt" = "550 ms", "path.rate" = "16 Mbit/s" }
LEO = { "path.rtt" = "40 ms", "path.rate" = "100 Mbit/s" }

[[variant]]
name = "long queue"
set  = { "path.queue" = "4 bdp" }
only = { orbit = ["GEO"] }
```

If the engine cannot run a variant (a congestion control that this kernel does not have, a sysctl in
`sim`), the variant is left out. A line on stderr says which and why, and the folder's `lab.json` records it.
If `--variant` names it, or if the plain lab itself cannot be run, the request is refused."""

_LOOKUP = """\
The value of a pipe's key comes from `[path.down]` or `[path.up]`; if it is not there, from `[path]`; if it
is not there either, from the preset. This holds for each key alone.
"""

_LEFT_OUT = """\
A setting that is left out is as the kernel has it; in `sim` it is as in Linux 6.18.
"""

_TRACES = """\
### Trace files

Names are relative to the lab file.

- A trace of delivery opportunities (`format = "mahimahi"`) has a line for each opportunity to send 1500
  bytes. The line is the opportunity's time: whole milliseconds since the start of the trace, never earlier
  than the line before.
- A trace of losses has a digit for each packet: `0` (it arrives) or `1` (it is lost). Blanks and line breaks
  may stand between digits, and `#` begins a comment.

Both start again after their end. An error in such a file is reported with its line. The message quotes only
numbers of at most 20 characters, because a lab may name any file that its user can read.
"""

_SIZE_FILE = """\
A file of sizes (`file`) has one size per line, in whole bytes without a unit; `#` begins a comment.
"""

_TUNNEL = """\
`path.mtu` is that of the tunnel's own packets. Hosts send packets that are shorter by the tunnel's headers
(38 bytes over IPv4, 58 over IPv6), so their MSS is lower, as with any tunnel.
[The erasure code](coding.md#in-a-lab) says what a tunnel does and what is measured.
"""

_SPLIT = """\
A performance-enhancing proxy (RFC 3135) sits at near and one at far. The client's connection ends at near,
near's at far, and far connects to the server. Hosts see each other's addresses. An empty `[split]` takes all
settings from `[host]`. A `[tunnel]` beside it carries the packets between near and far.
[The sim engine](sim.md#proxies-that-split-tcp) says how the proxies behave and what is measured, and
[How `live` works](live.md#a-split) what a machine needs.

```toml
[split]
path = { congestion_control = "bbr" }
```
"""


_GATEWAY = """\
A gateway of bentpipe sits at near and one at far. TCP ends at both. Between them the bytes of all connections
cross in one session, coded, at a rate of its own. An empty `[gateway]` takes the path's rates.
[The gateway](gateway.md) says what it does and what is measured, and
[the protocol](gateway-protocol.md) what crosses the path. `[near]`, `[split]` and `[tunnel]` cannot stand
beside it.

```toml
[gateway]
rate = "16 Mbit/s"
```
"""


@dataclass(frozen=True)
class _Table:
    """A section with the keys of one model."""

    heading: str
    model: str
    remark: str = ""
    without: str = ""
    """A model whose keys are in a section of their own."""


@dataclass(frozen=True)
class _Forms:
    """A section on tables of several forms: the keys that all have, then those of each form."""

    heading: str
    remark: str
    forms: Mapping[str, str]
    """Their models, by the forms' headings."""


_QUEUES = {
    "`fifo`": "FifoQueue",
    "`head-drop`": "HeadDropQueue",
    "`red`": "RedQueue",
    "`codel`": "CodelQueue",
    "`fq_codel`": "FqCodelQueue",
    "`pie`": "PieQueue",
}
_SIZES = {
    "`bounded-pareto`": "ParetoSize",
    "`lognormal`": "LognormalSize",
    "`lognormal+pareto`": "LognormalParetoSize",
    "`file`": "FileSize",
}
_WORKLOADS = {
    "`ping`": "Ping",
    "`bulk`": "Bulk",
    "`http`": "Http",
    "`channels`": "Channels",
    "`interactive`": "Interactive",
    "`call`": "Call",
    "`exec`": "Exec",
}

_PATH: tuple[_Table | _Forms, ...] = (
    _Table("## `[path]`", "Path", "These keys are of the whole path:\n", without="PipeKeys"),
    _Table("### Keys of a pipe", "PipeKeys", _LOOKUP),
    _Forms(
        "### `rate` as a table",
        "",
        {"A rate or a token bucket": "BucketRate", "A trace": "TraceRate", "Steps": "StepsRate"},
    ),
    _Forms("### `queue` as a table", "`discipline` says which packets are dropped.\n", _QUEUES),
    _Forms(
        "### `loss` and `ingress_loss` as tables",
        "",
        {"`bernoulli`": "BernoulliLoss", "`gilbert-elliott`": "GilbertElliottLoss", "`trace`": "TraceLoss"},
    ),
    _Table("### `jitter` as a table", "Jitter"),
    _Table("### `handover`", "Handover"),
    _Table("### `policer`", "Policer"),
)
_CONTROLS = _Forms(
    "### `congestion_control` as a table",
    "[Congestion controls](congestion-control.md) explains these keys, and how to add an algorithm. The keys "
    "below are those of CUBIC, Reno and the fixed rate. Any other name takes the numbers and texts that its "
    "file asks for.\n",
    {"CUBIC": "CubicControl", "Reno": "RenoControl", "A fixed rate": "FixedRateControl"},
)
_HOSTS: tuple[_Table | _Forms, ...] = (
    _Table("## `[near]`", "Near", "It forwards packets, and has the settings of `[host]`.\n"),
    _Table("### `near.cache`", "Cache"),
    _Table("## `[tunnel]`", "Tunnel", _TUNNEL),
    _Table("## `[split]`", "Split", _SPLIT),
    _Table("### `split.path`", "SplitPath"),
    _Table("## `[gateway]`", "Gateway", _GATEWAY),
    _Forms("## `[[workload]]`", "Each table describes one workload of the hosts.\n", _WORKLOADS),
    _Table("### `popularity` of `http`", "Popularity"),
    _Forms("### `size` of `channels` as a table", _SIZE_FILE, _SIZES),
    _Table("### `terrestrial` of `channels`", "Terrestrial"),
    _Table("### `terrestrial.delay` as a table", "LognormalDelay"),
)


def page() -> str:
    """The reference page, in Markdown."""
    schema = json_schema()
    definitions: dict[str, Schema] = schema["$defs"]
    units = _UNITS.format(times=_names(TIME_UNITS), sizes=_names(SIZE_UNITS), rates=_names(RATE_UNITS))

    def sections(of: Iterable[_Table | _Forms]) -> Iterator[str]:
        for each in of:
            yield _section(each, definitions) if isinstance(each, _Table) else _forms(each, definitions)

    parts = [
        _INTRODUCTION,
        units,
        "## The top of the file\n",
        _keys(schema),
        *sections(_PATH),
        _TRACES,
        _presets(),
        *sections([_Table("## `[host]`, `[client]`, `[server]`", "Host", _LEFT_OUT)]),
        _sysctls(),
        *sections([_CONTROLS]),
        *sections(_HOSTS),
        _GRID,
        *sections([_Table("### `[[variant]]`", "Variant"), _Table("## `[limits]`", "Limits")]),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _names(units: Iterable[str]) -> str:
    return " ".join(f"`{unit}`" for unit in units if unit != "µs")


def _section(of: _Table, definitions: Mapping[str, Schema]) -> str:
    table = definitions[of.model]
    elsewhere = definitions[of.without]["properties"] if of.without else ()
    return _joined(of.heading, _in_one_line(table["description"]), of.remark, _keys(table, without=elsewhere))


def _forms(of: _Forms, definitions: Mapping[str, Schema]) -> str:
    tables = {heading: definitions[model] for heading, model in of.forms.items()}
    common = _common_keys(list(tables.values()))
    parts = [of.heading, of.remark]
    if common["properties"]:
        parts += ["Every form has these keys:", _keys(common)]
    below = of.heading.partition(" ")[0] + "#"
    for heading, table in tables.items():
        own = _keys(table, without=common["properties"])
        parts += [f"{below} {heading}", _in_one_line(table["description"]), own]
    return _joined(*parts)


def _common_keys(tables: Sequence[Schema]) -> Schema:
    """A table of the keys that all have. The key by which the form is chosen has a value of each."""
    first, *others = (table["properties"] for table in tables)
    common: Schema = {}
    for key, form in first.items():
        forms = [form, *(properties[key] for properties in others if key in properties)]
        if len(forms) < len(tables):
            continue
        if "const" in form:
            choice = {"enum": [each["const"] for each in forms], "description": "one of the forms below"}
            default = next((each["default"] for each in forms if "default" in each), None)
            common[key] = choice if default is None else choice | {"default": default}
        elif all(each == form for each in forms):
            common[key] = form
    required = [key for key in common if all(key in table.get("required", []) for table in tables)]
    return {"properties": common, "required": required}


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _keys(table: Schema, *, without: Container[str] = ()) -> str:
    """The table's keys as rows; nothing where there are none."""
    required = table.get("required", [])
    rows = []
    for key, form in table["properties"].items():
        if key in without:
            continue
        reason = form.get("x-default-reason", "")
        meaning = _in_one_line(form.get("description", ""))
        why = f" *Default: {reason}.*" if reason else ""
        default = "required" if key in required else _default(form)
        rows.append(f"| `{key}` | {_form(form)} | {default} | {_sentence(meaning)}{why} |".replace("\n", " "))
    head = ["| key | form | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) if rows else ""


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def _default(form: Schema) -> str:
    if "x-default" in form:
        written = str(form["x-default"])
        return f"`{written}`" if written.startswith('"') and written.endswith('"') else written
    return f"`{json.dumps(form['default'])}`" if "default" in form else ""


def _form(form: Schema) -> str:
    """How a value is written, in a few words."""
    if "$ref" in form:
        return "table"
    for union in ("oneOf", "anyOf"):
        if union in form:
            return ", ".join(dict.fromkeys(_form(branch) for branch in form[union]))
    if "enum" in form or "const" in form:
        return " ".join(f"`{json.dumps(each)}`" for each in form.get("enum", [form.get("const")]))
    if form.get("type") == "array":
        least, most = form.get("minItems"), form.get("maxItems")
        return f"list of {most}" if most is not None and least == most else "list"
    named = {"integer": "whole number", "number": "number", "boolean": "`true` `false`", "object": "table"}
    word = form.get("title") or named.get(form.get("type", ""), "text")
    return f"{word}{_range(form)}"


def _range(form: Schema) -> str:
    least, most = form.get("minimum"), form.get("maximum")
    if least is not None and most is not None:
        return f", {least} to {most}" if most < 2**31 else f", {least} or more"
    if least is not None:
        return f", {least} or more"
    return f", above {form['exclusiveMinimum']}" if "exclusiveMinimum" in form else ""


def _presets() -> str:
    rows = ["## Presets\n", "| preset | keys of `[path]` | where the numbers come from |", "|---|---|---|"]
    for name, preset in PRESETS.items():
        keys = {
            **preset.path,
            **{
                f"{pipe}.{key}": value
                for pipe in ("down", "up")
                for key, value in getattr(preset, pipe).items()
            },
        }
        written = ", ".join(f'`{key} = "{value}"`' for key, value in keys.items())
        rows.append(f"| `{name}` | {written} | {preset.source} |")
    return "\n".join(rows) + "\n"


def _sysctls() -> str:
    rows = [
        "`live` applies each key with this setting, only inside the namespaces:\n",
        "| key | setting |",
        "|---|---|",
    ]
    rows += [
        f"| `{key}` | `{sysctl}` |" for sysctl, key in SYSCTL_FIELDS.items() if key != "congestion_control"
    ]
    rows += [
        f"| `{key}` | the route's `{metric}` |"
        for key, metric in (
            ("congestion_control", "congctl"),
            ("initcwnd", "initcwnd"),
            ("initrwnd", "initrwnd"),
        )
    ]
    return "\n".join(rows) + "\n"


def schema_text() -> str:
    """The JSON schema as the file has it."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def main(docs: Path) -> None:
    """Writes both files into a folder."""
    (docs / PAGE).write_text(page(), encoding="utf-8")
    (docs / SCHEMA).write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"))
