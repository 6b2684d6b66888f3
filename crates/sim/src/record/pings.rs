//! The `pings` table's rows.

use crate::rows::PingRow;
use bentpipe_path::time::Nanos;
use bentpipe_tables::Ping;

pub(crate) fn row<'a>(workload: &'a str, row: &PingRow) -> Ping<'a> {
    Ping {
        time_s: row.time.as_secs_f64(),
        workload,
        sequence: u64::from(row.sequence + 1),
        rtt_s: row.rtt.map(Nanos::as_secs_f64),
    }
}
