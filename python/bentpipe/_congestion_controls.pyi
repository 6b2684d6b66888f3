def congestion_controls() -> list[str]:
    """The names of the simulator's congestion controls, in alphabetical order."""
