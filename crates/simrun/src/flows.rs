//! The `flows` table (python/bentpipe/results/schema.py says what the columns mean).

use crate::table::Table;
use bentpipe_path::time::Time;
use bentpipe_sim::seat::Side;
use bentpipe_sim::sink::{Cached, FlowRow, Outcome};
use bentpipe_spool::cell::{Cell, Column};
use std::io::{self, Write};

pub(crate) const COLUMNS: [Column; 20] = [
    Column::integer("flow"),
    Column::text("workload"),
    Column::text("client"),
    Column::text("server"),
    Column::text("direction"),
    Column::integer("ip"),
    Column::integer("local_port"),
    Column::integer("remote_port"),
    Column::integer("size_bytes"),
    Column::float("start_s"),
    Column::float("connected_s"),
    Column::float("first_byte_s"),
    Column::float("end_s"),
    Column::integer("bytes"),
    Column::float("goodput_bit_s"),
    Column::integer("retransmits"),
    Column::text("outcome"),
    Column::text("why"),
    Column::integer("object"),
    Column::text("cache"),
];

fn seconds<'a>(at: Option<Time>) -> Cell<'a> {
    at.map(Time::as_secs_f64).into()
}

/// A host, or one of many that it stands for; numbers from 1.
fn party(host: &str, number: Option<u32>) -> String {
    number.map_or_else(
        || host.to_owned(),
        |number| format!("{host}-{}", number + 1),
    )
}

pub(crate) fn cached(found: Cached) -> &'static str {
    match found {
        Cached::Hit => "hit",
        Cached::Miss => "miss",
    }
}

pub(crate) fn row(
    out: &mut Table<impl Write + Send>,
    workload: &str,
    row: &FlowRow,
) -> io::Result<()> {
    let bytes = row.bytes - row.omitted_bytes;
    let goodput = row
        .end
        .map(|end| (end - row.counted_from).as_secs_f64())
        .filter(|&seconds| seconds > 0.0)
        .map(|seconds| bytes as f64 * 8.0 / seconds);
    let client = party(row.detail.leg.seat(row.opener).name(), row.detail.client);
    let other = row.detail.leg.seat(row.opener.other());
    let server = party(other.name(), row.detail.server);
    let cells: [Cell<'_>; COLUMNS.len()] = [
        (row.flow + 1).into(),
        workload.into(),
        client.as_str().into(),
        server.as_str().into(),
        match row.receiver {
            Side::Client => "down",
            Side::Server => "up",
        }
        .into(),
        row.ip.into(),
        row.local_port.into(),
        row.remote_port.into(),
        row.size_bytes.into(),
        seconds(Some(row.start)),
        seconds(row.detail.connected),
        seconds(row.first_byte),
        seconds(row.end),
        bytes.into(),
        goodput.into(),
        (row.retransmits - row.omitted_retransmits).into(),
        match row.outcome {
            Outcome::Finished => "finished",
            Outcome::Unfinished => "unfinished",
            Outcome::Failed => "failed",
        }
        .into(),
        row.why.into(),
        row.detail.object.into(),
        row.detail.cache.map(cached).into(),
    ];
    out.row(&cells)
}
