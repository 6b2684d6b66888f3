//! What JavaScript is told of a run that is over.

use bentpipe_sim::record::{RunResults, TableColumns};
use serde::Serialize;

#[derive(Serialize)]
struct Outcome<'a> {
    results: &'a RunResults,
    /// What the numbers in columns of kind `text` stand for.
    texts: &'a [String],
    columns: Vec<Place>,
}

/// Where a column lies in memory: so many 64-bit floating-point numbers from this address on.
#[derive(Serialize)]
struct Place {
    table: &'static str,
    name: &'static str,
    kind: &'static str,
    at: usize,
    rows: usize,
}

/// As JSON.
pub fn outcome(results: &RunResults, tables: &[TableColumns], texts: &[String]) -> String {
    let columns = tables.iter().flat_map(|table| {
        table.columns.iter().map(|(place, cells)| {
            let column = &table.table.columns[*place];
            Place {
                table: table.table.name,
                name: column.name,
                kind: column.kind.name(),
                at: cells.as_ptr().addr(),
                rows: cells.len(),
            }
        })
    });
    let outcome = Outcome {
        results,
        texts,
        columns: columns.collect(),
    };
    serde_json::to_string(&outcome).unwrap_or_else(|error| error.to_string())
}
