"""The base of every error that bentpipe raises for its user to handle. Imports nothing."""


class BentpipeError(Exception):
    """Something that was asked of bentpipe cannot be done. `str()` is the whole message for the user.

    The family: `LabError` (a lab or a change of it), `EngineError` (what an engine or this machine cannot
    do), `StoreError` (folders and tables of results; `QueryError` for SQL), `ComparisonError` and
    `ExecutorError` (where runs are done).
    """
