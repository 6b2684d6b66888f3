//! A sample names the sockets to which something has happened; the rows of all others are as they were.

use super::{channels::channels, http::http, near::cached, pipe, spec};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{HttpSpec, WorkloadSpec};
use bentpipe_sim::world::{Sample, SeenSocket};
use bentpipe_workloads::Distribution;
use std::collections::BTreeMap;

/// A socket as it was when it was last named.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// Without its time and waits.
    text: String,
    at: Time,
    waits: [Nanos; 3],
    growing: [bool; 3],
}

/// Looks only at the sockets that samples name, and compares what it knows with every socket.
#[derive(Default)]
struct Watching {
    /// By place, host and side.
    rows: BTreeMap<(usize, usize, usize), Row>,
    compared: usize,
    unnamed: usize,
}

fn row(sample: Sample<'_>, seen: &SeenSocket<'_>) -> Row {
    let mut row = seen.row();
    row.time = Time::ZERO;
    row.sample.busy = Nanos::ZERO;
    row.sample.rwnd_limited = Nanos::ZERO;
    row.sample.sndbuf_limited = Nanos::ZERO;
    Row {
        text: format!("{row:?}"),
        at: sample.present(seen.host),
        waits: seen.waits(),
        growing: seen.growing_waits(),
    }
}

impl Sink for Watching {
    fn sample(&mut self, sample: Sample<'_>) {
        let mut named = 0;
        for place in 0..sample.places() {
            let touched = sample.touched(place / 64);
            for end in 0..sample.ends() {
                let (host, side) = sample.end(place, end);
                if touched[host as usize] >> (place % 64) & 1 == 0 {
                    continue;
                }
                named += 1;
                match sample.socket(place, end) {
                    Some(seen) => self
                        .rows
                        .insert((place, host as usize, side as usize), row(sample, &seen)),
                    None => self.rows.remove(&(place, host as usize, side as usize)),
                };
            }
        }
        let mut open = 0;
        sample.each(|seen| {
            open += 1;
            let end = (
                seen.id.index as usize,
                seen.host as usize,
                seen.side as usize,
            );
            let known = &self.rows[&end];
            let now = row(sample, seen);
            assert_eq!(known.text, now.text);
            for (number, wait) in now.waits.into_iter().enumerate() {
                let growth = if known.growing[number] {
                    (now.at - known.at).0
                } else {
                    0
                };
                assert_eq!(known.waits[number].0 + growth, wait.0);
            }
        });
        assert_eq!(self.rows.len(), open, "a socket is gone and was not named");
        self.compared += open;
        self.unnamed += open - open.min(named);
    }
}

fn check(spec: SimSpec) {
    let spec = SimSpec {
        sample_interval_ns: Some(Nanos::from_millis(20)),
        ..spec
    };
    let mut watching = Watching::default();
    Simulation::new(spec).expect("valid").run(&mut watching);
    assert!(watching.compared > 300, "{} rows", watching.compared);
    assert!(watching.unnamed > 0, "every socket was named");
}

#[test]
fn what_a_sample_does_not_name_of_channels_is_as_it_was() {
    let size = Distribution::Constant { value: 100_000 };
    let work = WorkloadSpec::Channels(channels(20, size));
    check(spec(pipe(10_000_000, 100, 100_000), work, Some(20)));
}

#[test]
fn what_a_sample_does_not_name_of_a_cache_s_connections_is_as_it_was() {
    let fetches = HttpSpec {
        fetches: 30,
        keep_alive: true,
        ..http(200_000)
    };
    check(cached(fetches, 300_000));
}
