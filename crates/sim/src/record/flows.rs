//! The `flows` table's rows.

use crate::sink::{Cached, FlowOutcome, FlowRow};
use bentpipe_path::time::Time;
use bentpipe_tables::Flow;

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

/// Hands the row over: its names are put together here.
pub(crate) fn with_row<T>(workload: &str, row: &FlowRow, take: impl FnOnce(&Flow<'_>) -> T) -> T {
    let bytes = row.bytes - row.omitted_bytes;
    let goodput_bit_s = row
        .end
        .map(|end| (end - row.counted_from).as_secs_f64())
        .filter(|&seconds| seconds > 0.0)
        .map(|seconds| bytes as f64 * 8.0 / seconds);
    let client = party(row.detail.leg.seat(row.opener).name(), row.detail.client);
    let other = row.detail.leg.seat(row.opener.other());
    let server = party(other.name(), row.detail.server);
    take(&Flow {
        flow: row.flow + 1,
        workload,
        client: &client,
        server: &server,
        direction: row.receiver.direction().name(),
        ip: row.ip.into(),
        local_port: row.local_port.into(),
        remote_port: row.remote_port.into(),
        size_bytes: row.size_bytes,
        start_s: row.start.as_secs_f64(),
        connected_s: row.detail.connected.map(Time::as_secs_f64),
        first_byte_s: row.first_byte.map(Time::as_secs_f64),
        end_s: row.end.map(Time::as_secs_f64),
        bytes,
        goodput_bit_s,
        retransmits: Some(row.retransmits - row.omitted_retransmits),
        outcome: match row.outcome {
            FlowOutcome::Finished => "finished",
            FlowOutcome::Unfinished => "unfinished",
            FlowOutcome::Failed => "failed",
        },
        why: row.why,
        object: row.detail.object.map(u64::from),
        cache: row.detail.cache.map(cached),
    })
}
