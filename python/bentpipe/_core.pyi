"""The Rust side of bentpipe (crates/python): one stub per operation, named as its Rust file."""

from bentpipe._capture import CaptureReading as CaptureReading
from bentpipe._capture import read_capture as read_capture
from bentpipe._congestion_controls import congestion_controls as congestion_controls
from bentpipe._congestion_controls import wrong_parameter as wrong_parameter
from bentpipe._figures import flow_times as flow_times
from bentpipe._figures import pause_s as pause_s
from bentpipe._figures import percentile as percentile
from bentpipe._figures import pipe_figures as pipe_figures
from bentpipe._figures import queue_behaviour as queue_behaviour
from bentpipe._live_host import live_host as live_host
from bentpipe._message_times import message_times as message_times
from bentpipe._own_sockets import SocketWatch as SocketWatch
from bentpipe._popularity import popularity as popularity
from bentpipe._sim_run import sim_run as sim_run
from bentpipe._tables import tables as tables

__version__: str
