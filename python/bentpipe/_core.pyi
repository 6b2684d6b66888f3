"""The Rust side of bentpipe (crates/python): one stub per operation, named as its Rust file."""

from bentpipe._live_host import live_host as live_host
from bentpipe._popularity import popularity as popularity
from bentpipe._sim_run import sim_run as sim_run
from bentpipe._tables import tables as tables

__version__: str
