"""What a run leaves behind: the tables, their store, and what can be said of them in numbers."""

from bentpipe.results.store import Results, RunFolder, StoreError

__all__ = ["Results", "RunFolder", "StoreError"]
