def live_host(fd: int) -> int:
    """Serve one live run on `fd`, an end of a stream socket, and return the exit status.

    The process must have one thread and be of no other use: it enters namespaces that it does not leave, and
    everything in them ends with it. `docs/live-host.md` has the protocol. Raises `OSError` where `fd` is not
    open or no process can be made.
    """
