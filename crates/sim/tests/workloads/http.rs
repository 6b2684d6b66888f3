//! Fetches from a web server.

use super::{MSS, assert_near, end_s, pipe, run, spec};
use bentpipe_base::Direction;
use bentpipe_path::config::{LossConfig, PipeConfig};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::rows::{FlowOutcome, FlowRow};
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{HttpSpec, PopularitySpec, WorkloadSpec};

const HEADER: u64 = 263;

pub fn http(size: u64) -> HttpSpec {
    HttpSpec {
        name: "fetch".into(),
        start_ns: Time::ZERO,
        direction: Direction::Down,
        size_bytes: Some(size),
        objects_bytes: None,
        popularity: None,
        fetches: 1,
        connections: 1,
        keep_alive: false,
        think_ns: Nanos::ZERO,
    }
}

fn fetched(http: HttpSpec, pipe: PipeConfig) -> Vec<FlowRow> {
    run(spec(pipe, WorkloadSpec::Http(http), None)).0
}

#[test]
fn a_fetch_takes_the_handshake_the_request_and_the_rounds_of_slow_start() {
    let rtt = 0.2;
    for (segments, rounds) in [
        (1, 2.0),
        (10, 2.0),
        (11, 3.0),
        (30, 3.0),
        (31, 4.0),
        (70, 4.0),
    ] {
        let rows = fetched(http(segments * MSS - HEADER), pipe(0, 100, 0));
        assert_near(
            end_s(&rows[0]),
            rounds * rtt,
            &format!("{segments} segments"),
        );
        let connected = rows[0].detail.connected.expect("connected").as_secs_f64();
        let first = rows[0].first_byte.expect("a byte came").as_secs_f64();
        assert_near(connected, rtt, "connected");
        assert_near(first, 2.0 * rtt, "first byte");
    }
}

#[test]
fn an_upload_sends_its_body_with_the_request_and_hears_of_it_a_round_trip_later() {
    let rows = fetched(
        HttpSpec {
            direction: Direction::Up,
            ..http(10 * MSS - 74)
        },
        pipe(0, 100, 0),
    );
    assert_near(end_s(&rows[0]), 0.4, "connected, then there and back");
    assert_eq!(rows[0].bytes, 10 * MSS - 74);
    assert_near(
        rows[0].first_byte.expect("came").as_secs_f64(),
        0.3,
        "first byte",
    );
}

#[test]
fn a_server_that_thinks_adds_its_time_to_each_fetch() {
    let think = Nanos::from_millis(130);
    let rows = fetched(
        HttpSpec {
            fetches: 3,
            think_ns: think,
            ..http(1_000)
        },
        pipe(0, 100, 0),
    );
    for (row, number) in rows.iter().zip(1..) {
        assert_near(
            end_s(row),
            f64::from(number) * 0.53,
            "fetches one after another",
        );
    }
}

#[test]
fn a_kept_connection_saves_the_handshake_of_every_fetch_but_the_first() {
    let fetches = |keep_alive| {
        fetched(
            HttpSpec {
                fetches: 4,
                keep_alive,
                ..http(1_000)
            },
            pipe(0, 100, 0),
        )
    };
    let (new, kept) = (fetches(false), fetches(true));
    assert_near(end_s(&new[3]), 4.0 * 0.4, "a connection each");
    assert_near(end_s(&kept[3]), 0.4 + 3.0 * 0.2, "one connection");
    let ports = |rows: &[FlowRow]| {
        let mut ports: Vec<_> = rows.iter().map(|row| row.local_port).collect();
        ports.dedup();
        ports.len()
    };
    assert_eq!((ports(&new), ports(&kept)), (4, 1));
    assert!(kept[1].detail.connected.is_none());
}

#[test]
fn a_page_of_small_objects_takes_as_many_turns_as_its_connections_need() {
    for (connections, keep_alive, round_trips) in [
        (1, false, 24.0),
        (6, false, 4.0),
        (6, true, 3.0),
        (12, false, 2.0),
    ] {
        let page = HttpSpec {
            size_bytes: None,
            objects_bytes: Some(vec![2_000; 12]),
            connections,
            keep_alive,
            ..http(0)
        };
        let rows = fetched(page, pipe(0, 100, 0));
        assert_eq!(rows.len(), 12);
        let last = rows.iter().map(end_s).fold(0.0, f64::max);
        assert_near(
            last,
            round_trips * 0.2,
            &format!("{connections} connections"),
        );
    }
}

/// aria2 asks for the whole file first, and opens the other connections when it knows the length.
#[test]
fn a_file_in_ranges_begins_with_one_connection_and_the_others_follow_when_its_length_is_known() {
    let rows = fetched(
        HttpSpec {
            connections: 4,
            ..http(50_000_000)
        },
        pipe(50_000_000, 100, 1_000_000),
    );
    assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 50_000_000);
    assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished));
    let mut starts: Vec<_> = rows.iter().map(|row| row.start.as_secs_f64()).collect();
    starts.sort_by(f64::total_cmp);
    assert_eq!(starts[0].to_bits(), 0.0_f64.to_bits());
    for &start in &starts[1..4] {
        assert_near(start, 0.4, "the head is there");
    }
    assert!(starts[4] > 1.0, "{starts:?}");
}

#[test]
fn a_connection_that_meets_anothers_piece_is_reset_and_what_was_under_way_is_wasted() {
    let (rows, summary) = run(spec(
        pipe(50_000_000, 100, 1_000_000),
        WorkloadSpec::Http(HttpSpec {
            connections: 4,
            ..http(50_000_000)
        }),
        None,
    ));
    let ports: std::collections::BTreeSet<_> = rows.iter().map(|row| row.local_port).collect();
    assert!(ports.len() > 4, "{ports:?}");
    let first = rows.iter().find(|row| row.start == Time::ZERO);
    assert_eq!(
        first.map(|row| row.bytes),
        Some(12 * 1024 * 1024),
        "up to the piece that the third connection began with"
    );
    let carried = summary.totals[0].delivered.bytes;
    let needed = 50_000_000 / MSS * 1500;
    assert!(carried > needed + 500_000, "{carried}");
}

#[test]
fn ranges_share_the_file_and_carry_it_several_times_as_fast_where_a_window_binds() {
    let time = |connections| {
        let mut spec = spec(
            pipe(0, 100, 0),
            WorkloadSpec::Http(HttpSpec {
                connections,
                ..http(20_000_001)
            }),
            None,
        );
        spec.client.tcp.rcvbuf = Some(131_072);
        let (rows, _) = run(spec);
        assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 20_000_001);
        rows.iter().map(end_s).fold(0.0, f64::max)
    };
    let speed_up = time(1) / time(8);
    assert!((5.0..8.0).contains(&speed_up), "{speed_up}");
}

#[test]
fn a_fetch_over_a_dead_path_fails_and_the_next_is_tried() {
    let mut dead = pipe(0, 100, 0);
    dead.channel.loss = LossConfig::Bernoulli { p: 1.0 };
    let rows = fetched(
        HttpSpec {
            fetches: 2,
            ..http(1_000)
        },
        dead,
    );
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Failed));
    assert!(rows[1].start > rows[0].start);
}

#[test]
fn what_is_asked_for_follows_the_popularity_and_the_seed() {
    let asked = |seed| {
        let work = WorkloadSpec::Http(HttpSpec {
            fetches: 200,
            popularity: Some(PopularitySpec {
                zipf: 1.0,
                objects: 1_000,
            }),
            ..http(1_000)
        });
        let (rows, _) = run(SimSpec {
            seed,
            ..spec(pipe(0, 1, 0), work, None)
        });
        rows.iter()
            .map(|row| row.detail.object.expect("drawn"))
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(1), asked(1));
    assert_ne!(asked(1), asked(2));
    let most_popular = asked(1).iter().filter(|&&object| object == 1).count();
    assert!((10..60).contains(&most_popular), "{most_popular}");
}
