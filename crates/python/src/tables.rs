use bentpipe_tables::TABLES;
use pyo3::prelude::*;

type Column = (&'static str, &'static str, bool, &'static str);

/// Every table (`bentpipe_tables::TABLES`).
#[pyfunction]
pub fn tables() -> Vec<(&'static str, &'static str, Vec<Column>)> {
    let columns = |columns: &'static [bentpipe_tables::Column]| {
        let column = |it: &'static bentpipe_tables::Column| {
            (it.name, it.kind.name(), it.nullable, it.doc.trim())
        };
        columns.iter().map(column).collect()
    };
    TABLES
        .iter()
        .map(|table| (table.name, table.doc.trim(), columns(table.columns)))
        .collect()
}
