//! A host between client and path: forwarding, and with a web cache in it.

use super::{Flows, assert_near, end_s, http::http, pipe, run, spec};
use bentpipe_base::Direction;
use bentpipe_path::config::LossConfig;
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::near::NearConfig;
use bentpipe_sim::rows::{Cached, FlowOutcome, FlowRow, PingRow, SocketRow};
use bentpipe_sim::seat::{Leg, Seat, Side};
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{HttpSpec, PopularitySpec, WorkloadSpec};

/// A LAN of 20 ms before a path of 200 ms.
fn behind_near(work: WorkloadSpec, rate_bit_s: Option<u64>) -> SimSpec {
    let spec = spec(pipe(0, 100, 0), work, None);
    let lan = pipe(rate_bit_s.unwrap_or(0), 10, 1_500_000);
    SimSpec {
        near: Some(NearConfig {
            host: spec.client.clone(),
            down: lan.clone(),
            up: lan,
            cache_bytes: None,
        }),
        ..spec
    }
}

#[derive(Default)]
struct Pings(Vec<PingRow>);

impl Sink for Pings {
    fn ping(&mut self, row: &PingRow) {
        self.0.push(*row);
    }
}

#[test]
fn the_round_trip_is_the_sum_of_the_lan_and_the_path() {
    let work = WorkloadSpec::Ping {
        start_ns: Time::ZERO,
        count: 3,
        interval_ns: Nanos::from_millis(50),
        payload_bytes: 56,
    };
    let mut pings = Pings::default();
    Simulation::new(behind_near(work, None))
        .expect("valid")
        .run(&mut pings);
    let found: Vec<_> = pings.0.iter().map(|row| row.rtt).collect();
    assert_eq!(found, [Some(Nanos::from_millis(220)); 3]);
}

#[test]
fn a_fetch_over_lan_and_path_takes_the_rounds_of_their_sum() {
    let mut flows = Flows::default();
    Simulation::new(behind_near(WorkloadSpec::Http(http(20_000)), None))
        .expect("valid")
        .run(&mut flows);
    assert_near(end_s(&flows.0[0]), 3.0 * 0.22, "14 segments");
}

#[test]
fn a_slow_lan_carries_no_more_than_its_rate_and_the_path_no_more_than_the_lan_lets_through() {
    let size = 5_000_000;
    let bulk = |direction| WorkloadSpec::Bulk {
        start_ns: Time::ZERO,
        direction,
        streams: 1,
        size_bytes: Some(size),
        time_ns: None,
        omit_ns: Nanos::ZERO,
    };
    for direction in Direction::BOTH {
        let mut flows = Flows::default();
        let summary = Simulation::new(behind_near(bulk(direction), Some(10_000_000)))
            .expect("valid")
            .run(&mut flows);
        let rate = size as f64 * 8.0 / end_s(&flows.0[0]);
        assert!((7e6..10e6).contains(&rate), "{rate} bit/s {direction}");
        let data = Side::sending(direction).other();
        let carried = summary.totals[data as usize].delivered.bytes;
        assert!(carried > size, "{carried} bytes over the path");
    }
}

/// The same with a cache of so many bytes.
pub(crate) fn cached(http: HttpSpec, cache_bytes: u64) -> SimSpec {
    let mut spec = behind_near(WorkloadSpec::Http(http), None);
    if let Some(near) = &mut spec.near {
        near.cache_bytes = Some(cache_bytes);
    }
    spec
}

fn hits(rows: &[FlowRow]) -> Vec<bool> {
    rows.iter()
        .map(|row| row.detail.cache == Some(Cached::Hit))
        .collect()
}

#[test]
fn a_hit_takes_the_time_of_the_lan_and_a_miss_that_of_both() {
    let (rows, summary) = run(cached(
        HttpSpec {
            fetches: 3,
            ..http(10_000)
        },
        1_000_000,
    ));
    assert_eq!(hits(&rows), [false, true, true]);
    assert!(rows.iter().all(|row| row.detail.leg == Leg::Lan));
    let took = |row: &FlowRow| end_s(row) - row.start.as_secs_f64();
    assert_near(took(&rows[0]), 2.0 * 0.02 + 2.0 * 0.2, "a miss");
    assert_near(took(&rows[1]), 2.0 * 0.02, "a hit");
    assert_near(took(&rows[2]), 2.0 * 0.02, "another hit");
    let carried = summary.totals[0].delivered.bytes;
    assert!((10_000..12_000).contains(&carried), "{carried} once");
}

#[test]
fn a_connection_to_the_server_is_kept_for_the_next_miss() {
    let page = HttpSpec {
        size_bytes: None,
        objects_bytes: Some(vec![2_000; 3]),
        keep_alive: true,
        ..http(0)
    };
    let (rows, _) = run(cached(page, 1_000_000));
    assert_eq!(hits(&rows), [false; 3]);
    let last = rows.iter().map(end_s).fold(0.0, f64::max);
    assert_near(
        last,
        4.0 * 0.02 + 4.0 * 0.2,
        "a handshake on each leg, and three turns",
    );
}

#[test]
fn a_miss_is_passed_on_as_it_comes() {
    let size = 10_000_000;
    let time = |cache: bool| {
        let mut spec = cached(http(size), 100_000_000);
        (spec.down, spec.up) = (
            pipe(20_000_000, 100, 500_000),
            pipe(20_000_000, 100, 500_000),
        );
        if !cache {
            spec.near = None;
        }
        let (rows, _) = run(spec);
        assert_eq!(rows[0].bytes, size);
        end_s(&rows[0])
    };
    let (through, direct) = (time(true), time(false));
    assert!(
        (0.0..0.1).contains(&(through - direct)),
        "{through} s by the cache, {direct} s without near"
    );
}

#[test]
fn a_slow_lan_does_not_hold_up_what_the_cache_reads() {
    let mut spec = cached(http(5_000_000), 100_000_000);
    if let Some(near) = &mut spec.near {
        near.down = pipe(2_000_000, 10, 1_500_000);
    }
    spec.sample_interval_ns = Some(Nanos::from_millis(100));
    let mut read = Read::default();
    Simulation::new(spec).expect("valid").run(&mut read);
    let client = read.client.expect("it finished").as_secs_f64();
    let near = read.near.expect("it finished").as_secs_f64();
    assert!(near < 4.0, "near had it at {near} s");
    assert!(client > 20.0, "the client had it at {client} s");
}

/// When near, and the client, had read five million bytes.
#[derive(Default)]
struct Read {
    near: Option<Time>,
    client: Option<Time>,
}

impl Sink for Read {
    fn socket(&mut self, row: &SocketRow) {
        if row.sample.bytes_received >= 5_000_000 {
            match row.host {
                Seat::Near => self.near.get_or_insert(row.time),
                _ => self.client.get_or_insert(row.time),
            };
        }
    }
    fn flow(&mut self, row: &FlowRow) {
        self.client = row.end;
    }
}

#[test]
fn what_was_least_used_makes_room() {
    let popular = HttpSpec {
        fetches: 300,
        popularity: Some(PopularitySpec {
            zipf: 1.0,
            objects: 100,
        }),
        ..http(10_000)
    };
    let share = |capacity| {
        let (rows, summary) = run(cached(popular.clone(), capacity));
        let hits = hits(&rows).into_iter().filter(|&hit| hit).count();
        let misses = rows.len() - hits;
        let carried = summary.totals[0].delivered.bytes / 10_000;
        assert!(
            (misses as u64..misses as u64 * 12 / 10).contains(&carried),
            "{misses} misses, {carried} objects over the path"
        );
        hits
    };
    let (none, some, all) = (share(5_000), share(100_000), share(2_000_000));
    assert_eq!(none, 0);
    assert!(some > 50, "{some}");
    assert!(all > some + 50, "{some} {all}");
}

#[test]
fn ranges_of_what_is_not_held_each_fetch_the_whole_file_and_of_what_is_none() {
    let spec = |fetches| {
        let mut spec = cached(
            HttpSpec {
                connections: 4,
                fetches,
                ..http(8_000_000)
            },
            100_000_000,
        );
        spec.down = pipe(50_000_000, 100, 1_000_000);
        spec
    };
    let (rows, summary) = run(spec(1));
    assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 8_000_000);
    let once = summary.totals[0].delivered.bytes;
    // The run ends when the first has all; the others are on their way.
    assert!(once > 11_000_000, "{once}");
    let (rows, summary) = run(spec(2));
    assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 16_000_000);
    let misses = hits(&rows).into_iter().filter(|&hit| !hit).count() as u64;
    assert!(summary.totals[0].delivered.bytes < misses * 8_400_000);
    let second = rows.iter().filter(|row| row.detail.visit == Some(1));
    assert!(second.clone().count() >= 4);
    assert!(
        second
            .clone()
            .all(|row| row.detail.cache == Some(Cached::Hit) || row.bytes == 0)
    );
}

#[test]
fn the_first_answer_goes_on_into_ranges_that_have_had_no_answer() {
    let mut spec = cached(
        HttpSpec {
            connections: 4,
            ..http(4_000_000)
        },
        100_000_000,
    );
    spec.down = pipe(50_000_000, 10, 125_000);
    let (rows, _) = run(spec);
    let bytes: Vec<_> = rows.iter().map(|row| row.bytes).collect();
    assert_eq!(bytes.iter().sum::<u64>(), 4_000_000);
    assert_eq!(bytes.iter().max(), Some(&4_000_000), "{bytes:?}");
    // The head of a range waits at near for the range's first byte.
    let waited = rows.iter().filter(|row| row.bytes == 0);
    assert_eq!(waited.clone().count(), 3);
    assert!(waited.clone().all(|row| row.first_byte.is_none()));
}

#[test]
fn an_upload_goes_past_the_cache() {
    let (rows, _) = run(cached(
        HttpSpec {
            direction: Direction::Up,
            ..http(10_000)
        },
        1_000_000,
    ));
    assert_eq!(
        (rows[0].detail.leg, rows[0].detail.cache),
        (Leg::Whole, None)
    );
    assert_near(
        end_s(&rows[0]),
        2.0 * 0.22,
        "connected, then there and back",
    );
}

#[test]
fn a_server_that_thinks_does_so_for_misses_alone() {
    let (rows, _) = run(cached(
        HttpSpec {
            fetches: 2,
            think_ns: Nanos::from_millis(300),
            ..http(1_000)
        },
        1_000_000,
    ));
    let took = |row: &FlowRow| end_s(row) - row.start.as_secs_f64();
    assert_near(took(&rows[0]), 0.04 + 0.4 + 0.3, "a miss");
    assert_near(took(&rows[1]), 0.04, "a hit");
}

#[test]
fn when_the_server_is_not_reached_what_is_not_held_fails() {
    let mut spec = cached(
        HttpSpec {
            fetches: 2,
            ..http(1_000)
        },
        1_000_000,
    );
    spec.down.channel.loss = LossConfig::Bernoulli { p: 1.0 };
    let (rows, _) = run(spec);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Failed));
}
