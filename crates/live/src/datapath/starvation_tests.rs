//! A datapath that is kept from running must say so, and lose nothing: in a process of its own, which is stopped.

use super::tests::{Bed, super_packet};
use bentpipe_path::Nanos;
use bentpipe_path::config::{PipeConfig, PropagationConfig};
use rustix::process::{Signal, WaitOptions};
use std::io::{self, BufRead};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Set for the process that is stopped in `a_starved_datapath_says_so`.
const STARVED: &str = "BENTPIPE_TEST_STARVED";

#[test]
fn a_starved_datapath_says_so() {
    if std::env::var_os(STARVED).is_some() {
        return be_starved();
    }
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "--nocapture",
            "datapath::starvation_tests::a_starved_datapath_says_so",
        ])
        .env(STARVED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test runs again");
    let mut lines = io::BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut line_with = |word: &str| {
        lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once(word).map(|(_, rest)| rest.to_owned()))
            .expect("the line comes")
    };
    // It stops itself once its packets are on the path; stopped, it stays so for three times their delay.
    let pid = rustix::process::Pid::from_child(&child);
    let stopped = rustix::process::waitpid(Some(pid), WaitOptions::UNTRACED).expect("it is ours");
    assert!(stopped.is_some_and(|(_, status)| status.stopped()));
    std::thread::sleep(Duration::from_millis(1500));
    rustix::process::kill_process(pid, Signal::CONT).expect("it is ours");
    let max_us: f64 = line_with("lateness_us_max=").parse().expect("a number");
    assert!(child.wait().expect("it ends").success());
    // Due after 0.5 s, they left after 1.5 s.
    assert!(max_us > 500_000.0, "{max_us}");
}

/// Ten packets on a path of half a second, and the report once they are through.
fn be_starved() {
    let propagation = PropagationConfig {
        delay_ns: Nanos::from_millis(500),
        ..PropagationConfig::default()
    };
    let bed = Bed::new(
        "starved",
        PipeConfig {
            propagation,
            ..PipeConfig::default()
        },
    );
    for packet in 0..10 {
        bed.send(&super_packet(packet * 1000, 1000));
    }
    std::thread::sleep(Duration::from_millis(100));
    rustix::process::kill_process(rustix::process::getpid(), Signal::STOP)
        .expect("it is this process");
    for _ in 0..10 {
        while bed.receive().is_none() {}
    }
    let report = bed.stop();
    assert_eq!(
        report.up.totals.delivered.packets, 10,
        "late, and none is lost"
    );
    println!(
        "lateness_us_max={}",
        report.engine_error().all.lateness_us_max
    );
}
