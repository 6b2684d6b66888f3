//! The scenarios of `make check-gateway`, a few of them at each test run, and that the check can fail.

#[path = "../examples/check_gateway/gateway.rs"]
mod gateway;
#[path = "../examples/check_gateway/host.rs"]
mod host;
#[path = "../examples/check_gateway/line.rs"]
mod line;
#[path = "../examples/check_gateway/scenario.rs"]
mod scenario;
#[path = "../examples/check_gateway/shrink.rs"]
mod shrink;
#[path = "../examples/check_gateway/talk.rs"]
mod talk;
#[path = "../examples/check_gateway/world.rs"]
mod world;

use scenario::Scenario;
use shrink::shrink;
use world::World;

fn run(scenario: &Scenario) -> Result<u64, String> {
    World::new(scenario, false).run().0
}

#[test]
fn every_byte_arrives_once_and_right_or_the_flow_is_reset_on_both_sides() {
    every_byte_arrives(0..20);
}

#[test]
#[ignore = "long: 40 more scenarios, some 5 s of processor time; make check-gateway runs a thousand"]
fn so_it_does_in_more_scenarios() {
    every_byte_arrives(20..60);
}

fn every_byte_arrives(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        let scenario = Scenario::of(seed);
        let result = run(&scenario);
        assert!(result.is_ok(), "seed {seed}: {result:?}");
        if seed % 20 == 0 {
            assert_eq!(
                run(&scenario),
                result,
                "seed {seed} differs from run to run"
            );
        }
    }
}

#[test]
fn a_path_that_never_carries_anything_is_found_and_shrunk() {
    let mut scenario = Scenario::of(0);
    scenario.transfers.extend(Scenario::of(1).transfers);
    for pipe in &mut scenario.pipes {
        // The queue takes nothing: unlike the other faults, no smaller scenario leaves this out.
        pipe.queue = 0;
    }
    let why = run(&scenario).unwrap_err();
    assert!(why.contains("[Waiting, Waiting]"), "{why}");
    let smallest = shrink(scenario, |it| run(it).is_err());
    assert_eq!(smallest.transfers.len(), 1);
    assert_eq!(smallest.faults.len(), 0);
    assert_eq!(smallest.transfers[0].bytes, [0, 0]);
}

#[test]
fn the_trace_tells_what_every_packet_was_and_what_became_of_it() {
    let scenario = Scenario::of(3);
    let (result, trace, packets) = World::new(&scenario, true).run();
    assert!(result.is_ok());
    let sent = trace
        .iter()
        .filter(|line| line.contains(" bytes: "))
        .count();
    assert_eq!(sent as u64, packets);
    assert!(trace.iter().any(|line| line.contains("Established")));
}
