//! Channels: one connection after another.

use super::{MSS, assert_near, end_s, pipe, run, spec};
use bentpipe_path::config::LossConfig;
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::rows::FlowOutcome;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{ChannelsSpec, WorkloadSpec};
use bentpipe_workloads::{ChannelPlan, Distribution, server_delays};

pub(crate) fn channels(count: u32, size: Distribution) -> ChannelsSpec {
    ChannelsSpec {
        name: "clients".into(),
        start_ns: Time::ZERO,
        channels: count,
        servers: 1,
        size,
        terrestrial_delay: Distribution::Constant { value: 0 },
        terrestrial_jitter_ns: Nanos::ZERO,
        think_ns: Nanos::ZERO,
    }
}

#[test]
fn a_channel_carries_its_size_every_two_round_trips_where_nothing_queues() {
    // Connect, be accepted and sent 5 segments: two round trips; the next begins at the end.
    let size = Distribution::Constant { value: 5 * MSS };
    let work = WorkloadSpec::Channels(channels(10, size));
    let (rows, _) = run(spec(pipe(0, 100, 0), work, Some(100)));
    let finished = rows
        .iter()
        .filter(|row| row.outcome == FlowOutcome::Finished);
    let bytes: u64 = finished.clone().map(|row| row.bytes).sum();
    let rate = bytes as f64 / 100.0;
    let expected = 10.0 * (5 * MSS) as f64 / 0.4;
    assert!(
        (rate / expected - 1.0).abs() < 0.01,
        "{rate}, not {expected}"
    );
    for row in finished.take(50) {
        assert_near(end_s(row) - row.start.as_secs_f64(), 0.4, "a flow");
    }
}

#[test]
fn the_mean_rate_of_drawn_sizes_is_the_mean_size_over_the_mean_time() {
    // Slow start's rounds of each size drawn give the closed form of the mean time.
    let size = Distribution::BoundedPareto {
        shape: 1.2,
        min: 1_500,
        max: 100_000,
    };
    let (mut bytes, mut seconds) = (0.0, 0.0);
    for number in 0..20 {
        let mut plan = ChannelPlan::new(1, "clients", number, 1);
        for _ in 0..2_000 {
            let flow = plan.next_flow(&size);
            let segments = flow.size_bytes.div_ceil(MSS);
            let rounds = (segments as f64 / 10.0 + 1.0).log2().ceil().max(1.0);
            bytes += flow.size_bytes as f64;
            seconds += (1.0 + rounds) * 0.2;
        }
    }
    let work = WorkloadSpec::Channels(channels(20, size));
    let (rows, _) = run(spec(pipe(0, 100, 0), work, Some(600)));
    let carried: u64 = rows.iter().map(|row| row.bytes).sum();
    let (rate, expected) = (carried as f64 / 600.0, bytes / seconds * 20.0);
    assert!(
        (rate / expected - 1.0).abs() < 0.04,
        "{rate}, not {expected}"
    );
}

#[test]
fn think_time_parts_a_channels_flows() {
    let work = WorkloadSpec::Channels(ChannelsSpec {
        think_ns: Nanos::from_millis(600),
        ..channels(1, Distribution::Constant { value: 1_000 })
    });
    let (rows, _) = run(spec(pipe(0, 100, 0), work, Some(10)));
    for (row, number) in rows.iter().zip(0..) {
        assert_near(
            row.start.as_secs_f64(),
            f64::from(number),
            "a flow a second",
        );
    }
    assert_eq!(rows.len(), 11);
}

fn far_servers() -> ChannelsSpec {
    ChannelsSpec {
        servers: 23,
        terrestrial_delay: Distribution::Lognormal {
            median: 60_000_000,
            sigma: 0.8,
        },
        terrestrial_jitter_ns: Nanos::from_millis(5),
        ..channels(
            30,
            Distribution::BoundedPareto {
                shape: 1.2,
                min: 1_500,
                max: 50_000_000,
            },
        )
    }
}

#[test]
fn each_server_lies_at_its_own_drawn_delay_both_ways() {
    let channels = ChannelsSpec {
        size: Distribution::Constant { value: 1_000 },
        terrestrial_jitter_ns: Nanos::ZERO,
        ..far_servers()
    };
    let delays = server_delays(&channels.terrestrial_delay, 23, 1, "clients");
    let work = WorkloadSpec::Channels(channels);
    let (rows, _) = run(spec(pipe(0, 50, 0), work, Some(60)));
    let mut seen = [false; 23];
    for row in rows
        .iter()
        .filter(|row| row.outcome == FlowOutcome::Finished)
    {
        let server = row.detail.server.expect("a server") as usize;
        let connected = row.detail.connected.expect("connected") - row.start;
        assert_eq!(connected, Nanos(100_000_000 + 2 * delays[server].0));
        seen[server] = true;
    }
    assert_eq!(seen, [true; 23]);
}

#[test]
fn flows_are_those_that_the_seed_draws_whatever_the_path() {
    let drawn = |rate| {
        let work = WorkloadSpec::Channels(far_servers());
        let (rows, _) = run(spec(pipe(rate, 275, 100_000), work, Some(120)));
        let mut first: Vec<_> = rows
            .iter()
            .filter(|row| row.detail.client == Some(7))
            .map(|row| (row.detail.server.expect("a server"), row.size_bytes))
            .collect();
        first.truncate(10);
        first
    };
    let mut plan = ChannelPlan::new(1, "clients", 7, 23);
    let expected: Vec<_> = (0..10)
        .map(|_| plan.next_flow(&far_servers().size))
        .map(|flow| (flow.server, Some(flow.size_bytes)))
        .collect();
    assert_eq!(drawn(16_000_000), expected);
    assert_eq!(drawn(4_000_000), expected);
}

#[test]
fn the_same_seed_gives_the_same_rows_and_another_seed_others() {
    let rows = |seed| {
        let work = WorkloadSpec::Channels(far_servers());
        let run = run(SimSpec {
            seed,
            ..spec(pipe(16_000_000, 275, 100_000), work, Some(60))
        });
        format!("{:?}", run.0)
    };
    assert!(rows(1) == rows(1));
    assert!(rows(1) != rows(2));
}

#[test]
fn every_flow_is_a_row_also_on_a_path_that_loses_and_duplicates() {
    let mut rough = pipe(16_000_000, 20, 50_000);
    rough.channel.loss = LossConfig::Bernoulli { p: 0.05 };
    rough.channel.duplicate = 0.05;
    let work = WorkloadSpec::Channels(ChannelsSpec {
        terrestrial_delay: Distribution::Constant { value: 0 },
        ..far_servers()
    });
    let (rows, _) = run(spec(rough, work, Some(60)));
    let mut numbers: Vec<_> = rows.iter().map(|row| row.flow).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64));
    assert!(numbers.len() > 1_000);
    for row in &rows {
        match row.outcome {
            FlowOutcome::Finished => assert_eq!(Some(row.bytes), row.size_bytes),
            FlowOutcome::Unfinished => assert!(row.end.is_none()),
            FlowOutcome::Failed => assert!(row.why.is_some()),
        }
    }
}

#[test]
fn a_thousand_channels_run_at_a_gigabit() {
    let work = WorkloadSpec::Channels(ChannelsSpec {
        channels: 1_000,
        size: Distribution::Constant { value: 200_000 },
        terrestrial_delay: Distribution::Constant { value: 0 },
        ..far_servers()
    });
    let path = pipe(1_000_000_000, 20, 2_500_000);
    let (rows, summary) = run(spec(path, work, Some(5)));
    let carried = summary.totals[0].delivered.bytes as f64 * 8.0 / 5.0;
    assert!((0.85e9..=1e9).contains(&carried), "{carried}");
    let finished = rows
        .iter()
        .filter(|row| row.outcome == FlowOutcome::Finished);
    assert!(finished.count() > 1_500);
}

#[test]
fn servers_beyond_the_far_end_are_woken_by_what_arrives() {
    // Reality has this noise on every round trip: without it most flows would take the same time to the nanosecond.
    let work = WorkloadSpec::Channels(ChannelsSpec {
        servers: 2,
        terrestrial_delay: Distribution::Constant { value: 10_000_000 },
        ..channels(1, Distribution::Constant { value: 1_000 })
    });
    let mut spec = spec(pipe(0, 100, 0), work, Some(20));
    spec.server.tcp.wakeup_ns = Nanos::from_micros(20);
    let (rows, _) = run(spec);
    let mut times: Vec<i64> = rows
        .iter()
        .filter_map(|row| row.end.map(|end| (end - row.start).0))
        .collect();
    let flows = times.len();
    times.sort_unstable();
    times.dedup();
    assert!(flows > 40, "{flows}");
    assert!(
        times.len() * 10 > flows * 9,
        "{} times of {flows} flows",
        times.len()
    );
}
