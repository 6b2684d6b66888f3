//! What the adaptive policy does for flows that have few packets within the exit's hold: a young TCP flow over a satellite has ten
//! in a round trip.

use crate::path::{Path, random_loss, receiver_config, sender_config};
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{Policy, ReceiverConfig, ReleaseOrder, SenderConfig};

const ROUND_TRIP: Nanos = Nanos::from_millis(550);
/// A quarter of the round trip, as a lab has it.
const HOLD: Nanos = Nanos::from_micros(137_500);
const RESIDUAL: f64 = 0.01;
const MAX_RATIO: f64 = 0.5;
const LOSSES: [f64; 3] = [0.01, 0.05, 0.1];

/// The loss rate is known, so that only the plan is tested.
fn path(loss: f64, seed: u64) -> Path {
    let sender = SenderConfig {
        recover_within: HOLD,
        ..sender_config(Policy::Adaptive {
            residual: RESIDUAL,
            initial_loss: loss,
            max_ratio: MAX_RATIO,
        })
    };
    let receiver = ReceiverConfig {
        order: ReleaseOrder::InOrder { hold: HOLD },
        exact: None,
        ..receiver_config()
    };
    let mut path = Path::new(sender, receiver);
    path.is_lost = random_loss(loss, seed);
    path
}

/// Of groups of so many packets, whether each has one that never left the tunnel, or left after later ones.
fn groups_with_a_gap(path: &Path, packets_in_group: usize) -> Vec<bool> {
    let mut in_order = vec![false; path.pushed.len()];
    let mut newest = None;
    for released in &path.released {
        if newest.is_none_or(|newest| released.number > newest) {
            newest = Some(released.number);
            in_order[released.number as usize] = true;
        }
    }
    let groups = in_order.chunks(packets_in_group);
    groups.map(|it| !it.iter().all(|&it| it)).collect()
}

/// Five standard deviations above what is accepted.
fn most(groups: usize) -> usize {
    let mean = RESIDUAL * groups as f64;
    (mean + 5.0 * mean.sqrt()) as usize
}

/// Gaps in no more groups than the residual allows, with no more repairs than the policy may send.
fn assert_residual(case: &str, path: &Path, gaps: usize, groups: usize) {
    let counters = path.sender.counters();
    let ratio = counters.repairs as f64 / path.pushed.len() as f64;
    println!("{case}: {gaps} of {groups} with gaps, {ratio:.3} repairs per packet");
    assert!(gaps <= most(groups), "{case}: {gaps}");
    let bound = MAX_RATIO * counters.sources as f64 + 1.0;
    assert!(counters.repairs as f64 <= bound, "{case}: {counters:?}");
}

#[test]
fn a_burst_in_each_round_trip_is_whole_within_the_hold_with_the_residual() {
    let bursts = 400;
    for loss in LOSSES {
        for packets in [3, 10, 40] {
            let mut path = path(loss, packets);
            for burst in 0..bursts {
                let start = Time::ZERO + Nanos(ROUND_TRIP.0 * burst);
                path.push_every(start, Nanos::from_micros(100), packets);
            }
            path.run();
            let gaps = groups_with_a_gap(&path, packets as usize);
            let gaps = gaps.into_iter().filter(|&it| it).count();
            let case = format!("loss {loss}, bursts of {packets}");
            assert_residual(&case, &path, gaps, bursts as usize);
        }
    }
}

#[test]
fn a_slow_steady_flow_has_gaps_in_the_residuals_share_of_holds() {
    let holds = 400;
    for loss in LOSSES {
        for packets in [3, 10, 100] {
            let mut path = path(loss, packets);
            let gap = Nanos(HOLD.0 / packets as i64);
            path.push_every(Time::ZERO, gap, packets * holds);
            path.run();
            let gaps = stretches_with_a_gap(&path, packets as usize);
            let case = format!("loss {loss}, {packets} in a hold");
            assert_residual(&case, &path, gaps, holds as usize);
        }
    }
}

/// A time in which packets are late lies in two holds, and counts once.
fn stretches_with_a_gap(path: &Path, packets_in_hold: usize) -> usize {
    let gaps = groups_with_a_gap(path, packets_in_hold);
    let in_a_row = gaps.windows(2).filter(|it| it[0] && it[1]).count();
    gaps.iter().filter(|&&it| it).count() - in_a_row
}

#[test]
fn a_slow_flow_that_loses_nothing_is_hardly_coded() {
    let mut path = path(0.0, 1);
    for burst in 0..100 {
        path.push_every(
            Time::ZERO + Nanos(ROUND_TRIP.0 * burst),
            Nanos::from_micros(100),
            10,
        );
    }
    path.run();
    assert_eq!(path.sender.counters().repairs, 0);
}
