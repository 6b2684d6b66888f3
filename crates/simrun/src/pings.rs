//! The `pings` table's CSV (python/bentpipe/results/schema.py says what the columns mean).

use bentpipe_path::time::Nanos;
use bentpipe_sim::sink::PingRow;
use bentpipe_spool::cell::{Cell, line};
use std::io::{self, Write};

pub(crate) fn header(out: &mut impl Write) -> io::Result<()> {
    line(out, ["time_s", "workload", "sequence", "rtt_s"])
}

pub(crate) fn row(out: &mut impl Write, workload: &str, row: &PingRow) -> io::Result<()> {
    let cells: [Cell<'_>; 4] = [
        row.time.as_secs_f64().into(),
        workload.into(),
        (row.sequence + 1).into(),
        row.rtt.map(Nanos::as_secs_f64).into(),
    ];
    line(out, cells)
}
