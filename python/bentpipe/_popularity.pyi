def popularity(zipf: float, objects: int, seed: int, name: str, requests: int) -> list[int]:
    """The first requests of the workload `name` from a set of `objects`, of which the k-th is asked for in
    proportion to k^-zipf: numbers from 1, which is the most popular. The simulator draws the same.

    Raises `ValueError` for a set without objects.
    """
