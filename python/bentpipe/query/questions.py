"""Questions in SQL over the tables of one or several folders of runs, answered by DuckDB.

Every table has the column `run`, and with several folders `folder` before it. The files are read in place as
far as a question needs them, and only through the sandbox: no other file, no network, no extension, none of
this program's variables.
"""

import io
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from bentpipe.errors import MissingExtraError, QueryError, StoreError
from bentpipe.query.sandbox import QuerySandbox
from bentpipe.runs.runs_table import RUNS, runs_table
from bentpipe.runs.schema import FLAG, FLOAT, INTEGER, TABLES, TEXT
from bentpipe.runs.store import Results

try:
    import duckdb
except ModuleNotFoundError as error:
    if error.name != "duckdb":
        raise
    raise MissingExtraError("a question in SQL", "DuckDB", "query") from error

_READS = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.MULTI}
"""MULTI is what PIVOT becomes."""
_OF_TABLES = ("show", "information_schema", "duckdb_", "pg_")
"""How words begin that ask for the tables themselves."""
_DENIED = ("Permission Error: Cannot access", "Permission Error: File system LocalFileSystem")
_TRACE = "Traceback (most recent call last):"
_SQL_TYPES = {FLOAT: "double", INTEGER: "bigint", TEXT: "varchar", FLAG: "boolean"}
_DAMAGE = {duckdb.Error, duckdb.InvalidInputException, duckdb.IOException, duckdb.InternalException}
"""What DuckDB raises for a damaged file, among other things. It may not name the file."""
_POLARS_TYPES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), pl.Int64()),
    **dict.fromkeys(("FLOAT", "DOUBLE"), pl.Float64()),
    "VARCHAR": pl.String(),
    "BOOLEAN": pl.Boolean(),
}
"""Of an answer's columns; other types are seen from the values."""
_LOOK_S = 0.05
"""How often it is looked whether somebody has pressed Ctrl-C."""
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Column:
    name: str
    type: str


class Answer:
    """Columns, and rows as they come."""

    def __init__(self, columns: Sequence[Column], fetch: Callable[[int], Sequence[tuple[Any, ...]]]) -> None:
        self.columns = columns
        self._fetch = fetch

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Raises QueryError where a file turns out to be damaged."""
        while rows := self._fetch(_ROWS_AT_ONCE):
            yield from rows

    def frame(self) -> pl.DataFrame:
        """The whole answer. Raises QueryError where two columns have one name."""
        names = [column.name for column in self.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise QueryError(f'the answer has two columns "{twice}"; expected names of their own: `as other`')
        types = {column.name: _POLARS_TYPES.get(column.type) for column in self.columns}
        return pl.DataFrame(list(self.rows()), schema=types, orient="row", infer_schema_length=None)


class Questions:
    """Open it with `open`, which closes it."""

    def __init__(self, sweeps: Sequence[Results], sandbox: QuerySandbox, connection: "_Connection") -> None:
        self._sweeps = sweeps
        self._names = _names(sweeps)
        self._sandbox = sandbox
        self._connection = connection
        self._views: dict[str, Callable[[], str]] = {
            RUNS.name: self._runs,
            **{table: partial(self._series, table) for table in TABLES},
        }
        """Those that are not made yet: a table's files are looked for when a question speaks of it."""

    @classmethod
    @contextmanager
    def open(cls, sweeps: Sequence[Results], most_s: float = math.inf) -> "Iterator[Questions]":
        """A question, or a part of its rows, that takes more seconds than `most_s` is ended: QueryError."""
        sandbox = QuerySandbox()
        connection = _Connection(sandbox, most_s)
        try:
            yield cls(sweeps, sandbox, connection)
        finally:
            connection.close()

    def ask(self, sql: str) -> Answer:
        """Raises QueryError. The last answer's rows are gone when the next question is asked."""
        statements = self._connection.statements(sql)
        if len(statements) != 1:
            raise QueryError(f"found {len(statements)} statements; expected one question at a time")
        (statement,) = statements
        kind = _kind(statement)
        if kind not in _READS:
            found = kind.name if kind else "a statement of another kind"
            raise QueryError(
                f"found {found}; a query only reads: select, from, with, describe, summarize, "
                "pivot or explain. --csv and --json write the answer to stdout"
            )
        words = re.findall(r"\w+", sql.lower())
        of_tables = any(word.startswith(_OF_TABLES) for word in words)
        asked = [table for table in TABLES if of_tables or table in words]
        self._make([view for view in self._views if of_tables or view in words])
        try:
            with self._damage_named(asked):
                columns = self._connection.run(sql)
        except QueryError as error:
            if _lacks_column(error):
                self._make_by_name(asked)
            elif self._views:
                self._make(list(self._views))  # for the hint of a name that DuckDB gives
            else:
                raise
            with self._damage_named(asked):
                columns = self._connection.run(sql)

        given = 0

        def fetch(rows: int) -> list[tuple[Any, ...]]:
            nonlocal given
            try:
                with self._damage_named(asked):
                    found = self._connection.fetch(rows)
            except QueryError as error:
                if given or not _lacks_column(error):
                    raise
                self._make_by_name(asked)
                self._connection.run(sql)
                found = self._connection.fetch(rows)
            given += len(found)
            return found

        return Answer(columns, fetch)

    def _make(self, views: Sequence[str]) -> None:
        for view in views:
            made = self._views.pop(view)
            with self._damage_named([view]):
                try:
                    self._connection.run(f"create view {view} as {made()}")
                except QueryError as error:
                    if not isinstance(error.__cause__, duckdb.BinderException):
                        raise
                    self._make_by_name([view])
                if view in TABLES:
                    self._check_types(view)

    def _make_by_name(self, views: Sequence[str]) -> None:
        """Creates the views again if some files lack a column."""
        for view in views:
            self._connection.run(f"create or replace view {view} as {self._series(view, older=True)}")

    def _check_types(self, table: str) -> None:
        """Raises QueryError where a file has a column of another type. DuckDB takes the first file's types
        for all."""
        types = {found.name: found.type.lower() for found in self._connection.run(f"from {table} limit 0")}
        for column in TABLES[table].columns:
            if types[column.name] != _SQL_TYPES[column.dtype]:
                self._check_files(table)
                raise QueryError(f"table {table}, column {column.name}: found {types[column.name]}")

    @contextmanager
    def _damage_named(self, tables: Sequence[str]) -> Iterator[None]:
        """Names a damaged file by its path; DuckDB knows only the sandbox's name of it."""
        try:
            yield
        except QueryError as error:
            is_sandboxs = _TRACE in str(error.__cause__)  # and names the path already
            is_of_file = type(error.__cause__) in _DAMAGE or f"{QuerySandbox.protocol}://" in str(error)
            if is_of_file and not is_sandboxs:
                for table in tables:
                    self._check_files(table)
            raise

    def _check_files(self, table: str) -> None:
        """Raises QueryError for the first file that is not such a table."""
        try:
            for results in self._sweeps if table in TABLES else []:
                for run in results.names:
                    results.of_run(run, table)
        except StoreError as damage:
            raise QueryError(str(damage)) from damage

    def _runs(self) -> str:
        """The table of runs as a file. Of several folders it is made anew: the types are those of all."""
        content = io.BytesIO()
        _runs(self._sweeps, self._names).write_parquet(content)
        return f"from read_parquet('{self._sandbox.put(RUNS.name, {'all': content.getvalue()})}')"

    def _series(self, table: str, *, older: bool = False) -> str:
        """Of one table the files of all runs, one folder after the other. With `older` some lack a column."""
        parts = []
        columns = ", ".join(column.name for column in TABLES[table].columns)
        older = older or any(results.written_by_older(table) for results in self._sweeps)
        if older:
            # Gives the columns and their order; whoever has none of one has nulls.
            nothing = ", ".join(
                f"null::{_SQL_TYPES[column.dtype]} as {column.name}" for column in TABLES[table].columns
            )
            folder = "null::varchar as folder, " if len(self._sweeps) > 1 else ""
            parts.append(f"select {folder}null::varchar as run, {nothing} where false")
        by_name = ", union_by_name = true" if older else ""
        for number, (results, name) in enumerate(zip(self._sweeps, self._names, strict=True)):
            files = self._sandbox.put(f"{table}/{number}", results.files(table))
            folder = f"{_quoted(name)} as folder, " if len(self._sweeps) > 1 else ""
            parts.append(
                f"select {folder}string_split(filename, '/')[-1] as run, "
                f"{'* exclude (filename)' if older else columns} "
                f"from read_parquet('{files}', filename = true{by_name})"
            )
        every = " union all by name ".join(parts)
        folder = "folder, " if len(self._sweeps) > 1 else ""
        return f"select {folder}run, {columns} from ({every})" if older else every


def _runs(sweeps: Sequence[Results], names: Sequence[str]) -> pl.DataFrame:
    if len(sweeps) == 1:
        return sweeps[0].scan(RUNS.name).collect()
    records = [record for results in sweeps for record in results.records]
    folder = [name for results, name in zip(sweeps, names, strict=True) for _ in results.names]
    return runs_table(records).insert_column(0, pl.Series("folder", folder))


def _names(sweeps: Sequence[Results]) -> list[str]:
    """The folders' own, or as they were given where two have the same."""
    names = [results.folder.name for results in sweeps]
    return names if len(set(names)) == len(names) else [str(results.folder) for results in sweeps]


class _Connection:
    """DuckDB in memory. It runs in a thread: its own calls do not end at a Ctrl-C, the wait for them does."""

    def __init__(self, sandbox: QuerySandbox, most_s: float) -> None:
        self._most_s = most_s
        self._duckdb = duckdb.connect(
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "enable_external_file_cache": "false",
                "python_enable_replacements": "false",
                "temp_directory": "",  # else SQL could write there
            }
        )
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="query")
        self._running: Future[Any] | None = None
        self._duckdb.register_filesystem(sandbox)
        # From here on only the sandbox is open, and SQL cannot change that.
        self._duckdb.execute(f"set allowed_directories = ['{QuerySandbox.protocol}://']")
        self._duckdb.execute("set enable_external_access = false")
        self._duckdb.execute("set disabled_filesystems = 'LocalFileSystem'")  # should the former have a hole
        self._duckdb.execute("set lock_configuration = true")

    def statements(self, sql: str) -> list[duckdb.Statement]:
        with _said():
            return self._duckdb.extract_statements(sql)

    def run(self, sql: str) -> list[Column]:
        with _said():
            self._interruptibly(lambda: self._duckdb.execute(sql))
            return [Column(name, str(kind)) for name, kind, *_ in self._duckdb.description or ()]

    def fetch(self, rows: int) -> list[tuple[Any, ...]]:
        with _said():
            found: list[tuple[Any, ...]] = self._interruptibly(lambda: self._duckdb.fetchmany(rows))
            return found

    def close(self) -> None:
        """Ends what still runs, as after a second Ctrl-C that came while the first ended it."""
        if self._running is not None:
            self._interrupt(self._running)
        self._worker.shutdown()
        self._duckdb.close()

    def _interruptibly(self, work: Callable[[], Any]) -> Any:
        running = self._running = self._worker.submit(work)
        end_s = time.monotonic() + self._most_s
        try:
            # A wait without an end would not be broken off: Polars' handler lets it be restarted.
            while not wait([running], timeout=_LOOK_S).done and time.monotonic() < end_s:
                pass
        except KeyboardInterrupt:
            self._interrupt(running)
            raise
        if not running.done():
            self._interrupt(running)
            raise QueryError(f"it took longer than {self._most_s:g} s, and was ended")
        return running.result()

    def _interrupt(self, running: Future[Any]) -> None:
        while not wait([running], timeout=_LOOK_S).done:
            self._duckdb.interrupt()  # again: it is lost on a query that is still being planned


def _lacks_column(error: QueryError) -> bool:
    """Whether a file has not all columns of the table's first file. DuckDB sees it when it opens the file."""
    return isinstance(error.__cause__, duckdb.InvalidInputException) and "schema mismatch" in str(error)


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """None for a kind that DuckDB's Python module has no name for."""
    try:
        return statement.type
    except ValueError:
        return None


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise QueryError(_words(str(error))) from error
    except UnicodeDecodeError as error:  # a message that quotes a damaged file
        raise QueryError(_words(error.object.decode(errors="backslashreplace"))) from error
    except (ValueError, OverflowError) as error:
        raise QueryError(
            f"Python cannot hold a value of the answer: {error}; expected ::text behind it"
        ) from error


def _words(message: str) -> str:
    """DuckDB's message, with its hint and the place in the SQL; of the sandbox's errors only the message."""
    _, python, trace = message.rpartition(_TRACE)
    if python:
        raised = next((line for line in trace.splitlines() if line and line[0] != " "), message)
        return raised.partition(": ")[2] or raised
    if message.startswith(_DENIED):
        sql = message.strip().partition("\n\n")[2]
        return f"a query can read only the tables of DIR, no file by its path\n\n{sql}".strip()
    # Further lines are indented alike, so that the mark below the SQL stays where it belongs.
    return message.strip().replace("\n\n", "\n").replace("\n", "\n  ")


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
