"""Work in a thread beside a test, whose failure is the test's."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event


@contextmanager
def beside(work: Callable[[Event], object]) -> Iterator[None]:
    """Does `work` in a thread while the body runs, and waits for its end. What it raises comes out here.

    `work` is given an event that is set when the body has ended.
    """
    over = Event()
    with ThreadPoolExecutor(max_workers=1) as threads:
        working = threads.submit(work, over)
        try:
            yield
        finally:
            over.set()
            working.result()
