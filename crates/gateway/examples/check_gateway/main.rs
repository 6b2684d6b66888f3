//! `make check-gateway SEEDS=10000`: the whole protocol in virtual time, under all that a path and its gateways can do wrong. Every byte
//! arrives once and right, or the flow is reset on both sides; everything comes to an end once the path is back; nothing is kept.
//!
//! `--seeds N [--from N]`: so many scenarios. `--seed N`: this one, with its trace. A scenario that fails is made smaller first.

mod gateway;
mod host;
mod line;
mod scenario;
mod shrink;
mod talk;
mod world;

use scenario::Scenario;
use shrink::shrink;
use std::process::ExitCode;
use world::World;

fn run(scenario: &Scenario) -> Result<u64, String> {
    World::new(scenario, false).run().0
}

fn show(scenario: &Scenario) -> ExitCode {
    println!("{scenario:#?}");
    let (result, trace, packets) = World::new(scenario, true).run();
    for line in &trace {
        println!("{line}");
    }
    match result {
        Ok(digest) => {
            println!("right: {packets} packets, digest {digest:016x}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("wrong: {why}");
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut seeds, mut from, mut one) = (1000, 0, None);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|it| it.parse::<u64>().ok());
        match (name.as_str(), value) {
            ("--seeds", Some(number)) => seeds = number,
            ("--from", Some(number)) => from = number,
            ("--seed", Some(number)) => one = Some(number),
            _ => {
                eprintln!("usage: check_gateway [--seeds N] [--from N] | --seed N");
                return ExitCode::from(2);
            }
        }
    }
    if let Some(seed) = one {
        return show(&Scenario::of(seed));
    }
    let mut packets = 0;
    for seed in from..from + seeds {
        let scenario = Scenario::of(seed);
        let (result, _, count) = World::new(&scenario, false).run();
        packets += count;
        let again = seed % 16 == 0;
        let result = result.and_then(|digest| {
            if again && run(&scenario) != Ok(digest) {
                return Err("a second run differs from the first".to_owned());
            }
            Ok(())
        });
        if let Err(why) = result {
            println!("seed {seed}: {why}");
            println!("The smallest scenario that fails:");
            show(&shrink(scenario, |it| run(it).is_err()));
            println!("seed {seed}: {why}. `--seed {seed}` shows it whole.");
            return ExitCode::FAILURE;
        }
        if (seed - from + 1).is_multiple_of(1000) {
            eprintln!("{} of {seeds} seeds, {packets} packets", seed - from + 1);
        }
    }
    println!(
        "{seeds} seeds, {packets} packets: every byte once and right, or the flow reset on both sides; every datagram at most once and right"
    );
    ExitCode::SUCCESS
}
