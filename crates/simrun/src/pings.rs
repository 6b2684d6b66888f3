//! The `pings` table (python/bentpipe/results/schema.py says what the columns mean).

use crate::table::Table;
use bentpipe_path::time::Nanos;
use bentpipe_sim::sink::PingRow;
use bentpipe_spool::cell::{Cell, Column};
use std::io::{self, Write};

pub(crate) const COLUMNS: [Column; 4] = [
    Column::float("time_s"),
    Column::text("workload"),
    Column::integer("sequence"),
    Column::float("rtt_s"),
];

pub(crate) fn row(
    out: &mut Table<impl Write + Send>,
    workload: &str,
    row: &PingRow,
) -> io::Result<()> {
    let cells: [Cell<'_>; COLUMNS.len()] = [
        row.time.as_secs_f64().into(),
        workload.into(),
        (row.sequence + 1).into(),
        row.rtt.map(Nanos::as_secs_f64).into(),
    ];
    out.row(&cells)
}
