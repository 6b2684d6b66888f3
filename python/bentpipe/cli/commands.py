"""The commands by name: where each is, and its line in `bentpipe --help`.

The lines stand here because the help must not load the commands. They are the first lines of the commands'
docstrings.
"""

from bentpipe.frozen import frozen


@frozen
class Entry:
    """A command that is not loaded yet."""

    module: str
    """In bentpipe.cli."""
    function: str
    line: str
    hands_over: bool = False
    """All arguments are another program's, `--help` too."""


COMMANDS: dict[str, Entry] = {
    "new": Entry("new", "new", "Write a first lab file for your own path."),
    "run": Entry("run", "run", "Run a lab: every point of its sweep and every variant."),
    "explain": Entry(
        "explain", "explain", "Say what limited each transfer of a run, and for which share of the time."
    ),
    "doctor": Entry(
        "doctor", "doctor", "Say what limited a transfer, from what one end saw, with the evidence."
    ),
    "tune": Entry(
        "tune", "tune", "Tune this host's TCP for a long path, prove the effect by measurement, or undo it."
    ),
    "report": Entry(
        "report",
        "report",
        "Print the table of a sweep, and write a page with every chart: one HTML file.",
    ),
    "shell": Entry(
        "shell",
        "shell",
        "Open a shell, or run a command, at a host of a live path.",
    ),
    "calc": Entry(
        "calc",
        "calc",
        "Compute what a path allows: each limit, which one binds, how long a transfer takes, what to set.",
    ),
    "compare": Entry(
        "compare",
        "compare",
        "Compare variants or folders: the effect of a change, with confidence intervals.",
    ),
    "query": Entry(
        "query",
        "query",
        "Query the runs of a folder in SQL: tables runs, link, flows, sockets, pings, tools.",
    ),
    "web": Entry("web", "web", "Serve a page on this machine: the playground, running labs, and reports."),
    "import": Entry(
        "import_",
        "import_",
        "Import measurements of other programs (iperf3, flent) as runs.",
    ),
    "export": Entry(
        "export", "export", "Export runs for other programs: tables as CSV, or flent's data files."
    ),
    "labs": Entry("labs", "labs", "List the labs that come with bentpipe."),
    "gateway": Entry(
        "gateway",
        "gateway",
        "Run bentpipe-gateway, the daemon at each end of a slow path, with the given arguments.",
        hands_over=True,
    ),
    "schema": Entry(
        "schema",
        "schema",
        "Print a JSON schema: of the lab file, for editors, or of the doctor's reports.",
    ),
    "version": Entry("version", "version", "Print bentpipe's version."),
}
