"""What a run leaves behind: the tables, their store, and what can be said of them in numbers."""

from bentpipe.results.errors import ComparisonError, StoreError
from bentpipe.results.run_folder import RunFolder
from bentpipe.results.store import Results

__all__ = ["ComparisonError", "Results", "RunFolder", "StoreError"]
