//! The `flows` table's rows.

use crate::rows::{Cached, FlowOutcome, FlowRow};
use crate::seat::Seat;
use bentpipe_path::time::Time;
use bentpipe_tables::Flow;

/// Names of hosts, and of the many that one stands for, put together once.
#[derive(Debug, Default)]
pub(crate) struct Parties([Vec<String>; Seat::ALL.len()]);

impl Parties {
    /// Those of numbers up to this one.
    fn know(&mut self, host: Seat, number: Option<u32>) {
        let names = &mut self.0[host as usize];
        while number.is_some_and(|number| names.len() <= number as usize) {
            names.push(format!("{}-{}", host.name(), names.len() + 1));
        }
    }

    /// A host, or one of many that it stands for, which is known; numbers from 1.
    fn name(&self, host: Seat, number: Option<u32>) -> &str {
        number.map_or(host.name(), |number| {
            &self.0[host as usize][number as usize]
        })
    }
}

pub(crate) fn cached(found: Cached) -> &'static str {
    match found {
        Cached::Hit => "hit",
        Cached::Miss => "miss",
    }
}

pub(crate) fn row<'a>(workload: &'a str, row: &FlowRow, parties: &'a mut Parties) -> Flow<'a> {
    let bytes = row.bytes - row.omitted_bytes;
    let goodput_bit_s = row
        .end
        .map(|end| (end - row.counted_from).as_secs_f64())
        .filter(|&seconds| seconds > 0.0)
        .map(|seconds| bytes as f64 * 8.0 / seconds);
    let detail = &row.detail;
    let [client, server] = [
        (detail.leg.seat(row.opener), detail.client),
        (detail.leg.seat(row.opener.other()), detail.server),
    ];
    for (host, number) in [client, server] {
        parties.know(host, number);
    }
    Flow {
        flow: row.flow + 1,
        workload,
        client: parties.name(client.0, client.1),
        server: parties.name(server.0, server.1),
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
    }
}
