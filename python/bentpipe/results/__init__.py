"""What a run leaves behind: the tables, their store, and what can be said of them in numbers."""

from typing import TYPE_CHECKING

from bentpipe.lazy import names_of

if TYPE_CHECKING:
    from bentpipe.results.errors import ComparisonError, StoreError
    from bentpipe.results.run_folder import RunFolder
    from bentpipe.results.store import Results
else:
    __getattr__ = names_of(
        __name__,
        {
            "ComparisonError": "bentpipe.results.errors",
            "Results": "bentpipe.results.store",
            "RunFolder": "bentpipe.results.run_folder",
            "StoreError": "bentpipe.results.errors",
        },
    )

__all__ = ["ComparisonError", "Results", "RunFolder", "StoreError"]
