def message_times(seed: int, name: str, interval_ns: int, gaps: str, count: int, before_ns: int) -> list[int]:
    """When the workload `name` of the kind `interactive` writes its messages, in nanoseconds from the first:
    `count` of them, and those before `before_ns`. The simulator draws the same.

    Raises `ValueError` for gaps that are neither fixed nor exponential.
    """
