def tables() -> list[tuple[str, str, list[tuple[str, str, bool, str]]]]:
    """Every table that a run leaves behind: its name, what it is, and its columns (crates/tables).

    Of a column: its name, its type (`text`, `integer`, `float` or `boolean`), whether it may be null, what it
    means.
    """
