"""What a run leaves behind: the tables, their store, and what can be said of them in numbers."""

from bentpipe.results.errors import StoreError
from bentpipe.results.run_folder import RunFolder
from bentpipe.results.store import Results

__all__ = ["Results", "RunFolder", "StoreError"]
