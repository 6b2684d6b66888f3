use super::*;

const SECOND_NS: i64 = 1_000_000_000;
const LOOK_NS: i64 = SECOND_NS / 10;
const MS_NS: u64 = 1_000_000;
const SERVER: Owner = Owner::Host(HostId::Server);

fn at(process: i32, program: &str, waited_ms: u64) -> Seen {
    Seen {
        owner: SERVER,
        task: Task {
            process,
            thread: process,
            started_ticks: 1,
        },
        program: program.to_owned(),
        state: State::Other,
        times: Some(SchedStat {
            ran_ns: 1,
            waited_ns: waited_ms * MS_NS,
            turns: 1,
        }),
        memory_bytes: None,
    }
}

fn of_server(mut account: Account, now_ns: i64) -> Vec<ProgramWaits> {
    account.finish(now_ns, &[]);
    account.of(SERVER)
}

fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("it was counted");
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

#[test]
fn a_program_that_waited_a_quarter_of_its_time_has_that_share_whenever_it_ran() {
    // What begins before the run's time zero, as a ping of a lab's `start = "-1.6 s"`, has negative times.
    for begins_ns in [-5 * SECOND_NS, -2 * SECOND_NS - LOOK_NS, -SECOND_NS, 0] {
        let mut account = Account::default();
        for look in 0..=20 {
            account.look(begins_ns + look * LOOK_NS, &[]);
        }
        for look in 1..=4 {
            let seen = at(7, "iperf3", 25 * look);
            account.look(begins_ns + (20 + look as i64) * LOOK_NS, &[seen]);
        }
        let [iperf3] = &of_server(account, begins_ns + 10 * SECOND_NS)[..] else {
            panic!("one program was seen");
        };
        near(iperf3.wait_share, 0.25);
        near(iperf3.waited_s, 0.1);
        near(iperf3.wait_max_ms, 25.0);
        near(iperf3.wait_max_at_s, begins_ns as f64 / 1e9 + 2.1);
    }
}

#[test]
fn threads_that_wait_at_once_count_once_in_the_share_and_each_in_the_sum() {
    let mut account = Account::default();
    account.look(0, &[]);
    account.look(LOOK_NS, &[at(7, "iperf3", 50), at(8, "iperf3", 40)]);
    let iperf3 = &of_server(account, LOOK_NS)[0];
    near(iperf3.wait_share, 0.5);
    near(iperf3.waited_s, 0.09);
    assert_eq!(iperf3.threads, 2);
}

#[test]
fn programs_that_begin_and_end_between_two_looks_are_counted_one_after_another() {
    let mut account = Account::default();
    account.look(0, &[]);
    account.ended(40_000_000, &at(7, "curl", 10));
    account.ended(80_000_000, &at(8, "curl", 10));
    account.look(LOOK_NS, &[]);
    let curl = &of_server(account, LOOK_NS)[0];
    near(curl.wait_share, 0.25);
    near(curl.waited_s, 0.02);
}

#[test]
fn a_wait_that_the_kernel_has_not_added_by_the_end_counts() {
    let mut account = Account::default();
    let waiting = Seen {
        state: State::Runnable,
        ..at(7, "iperf3", 0)
    };
    for look in 0..=20 {
        account.look(look * LOOK_NS, std::slice::from_ref(&waiting));
    }
    account.finish(21 * LOOK_NS, &[waiting]);
    let iperf3 = &account.of(SERVER)[0];
    near(iperf3.wait_max_ms, 2100.0);
    near(iperf3.wait_share, 1.0);
}

#[test]
fn a_stop_is_as_long_as_it_was_seen_and_named_with_its_time() {
    let mut account = Account::default();
    for look in 0..=60 {
        let state = if (20..40).contains(&look) {
            State::Stopped
        } else {
            State::Other
        };
        let main = Seen {
            state,
            ..at(7, "iperf3", 0)
        };
        let mut other = main.clone();
        other.task.thread = 8;
        account.look(look * LOOK_NS, &[main, other]);
    }
    let iperf3 = &of_server(account, 6 * SECOND_NS)[0];
    assert!(
        (iperf3.stopped_s - 2.0).abs() < 1e-9,
        "{}",
        iperf3.stopped_s
    );
    assert_eq!(iperf3.stopped_at_s, Some(2.0));
}

#[test]
fn a_thread_that_a_debugger_stops_alone_is_a_stop_of_its_program() {
    let mut account = Account::default();
    let main = at(7, "iperf3", 0);
    let mut worker = main.clone();
    worker.task.thread = 8;
    account.look(0, &[main.clone(), worker.clone()]);
    worker.state = State::Stopped;
    account.look(LOOK_NS, &[main.clone(), worker.clone()]);
    worker.state = State::Other;
    account.look(2 * LOOK_NS, &[main, worker]);
    let iperf3 = &of_server(account, 3 * LOOK_NS)[0];
    near(Some(iperf3.stopped_s), 0.1);
    assert_eq!(iperf3.stopped_at_s, Some(0.1));
}

#[test]
fn what_is_not_counted_is_not_zero() {
    let mut account = Account::default();
    let seen = Seen {
        times: None,
        ..at(7, "iperf3", 0)
    };
    account.look(0, std::slice::from_ref(&seen));
    account.look(LOOK_NS, &[seen]);
    let iperf3 = &of_server(account, LOOK_NS)[0];
    assert_eq!((iperf3.waited_s, iperf3.wait_share), (None, None));
    assert_eq!(iperf3.wait_max_ms, None);
}

#[test]
fn what_the_kernels_threads_waited_before_the_run_is_left_out() {
    let mut account = Account::default();
    for waited_ms in [5_000, 5_030] {
        let seen = Seen {
            owner: Owner::Kernel,
            ..at(3, "ksoftirqd/0", waited_ms)
        };
        account.look((waited_ms as i64 - 5_000) * 1_000_000, &[seen]);
    }
    account.finish(LOOK_NS, &[]);
    near(account.of(Owner::Kernel)[0].waited_s, 0.03);
}

#[test]
fn a_process_that_is_no_part_of_the_work_leaves_nothing_behind() {
    let mut account = Account::default();
    account.look(0, &[]);
    account.look(LOOK_NS, &[at(7, "python", 90), at(8, "iperf3", 5)]);
    account.forget(7);
    account.look(2 * LOOK_NS, &[at(8, "iperf3", 5)]);
    let seen = of_server(account, 2 * LOOK_NS);
    let names: Vec<_> = seen.iter().map(|each| &each.program).collect();
    assert_eq!(names, ["iperf3"]);
}

#[test]
fn of_two_hundred_threads_the_one_that_waited_makes_the_share() {
    let mut account = Account::default();
    account.look(0, &[]);
    for look in 1..=10 {
        let threads: Vec<Seen> = (0..200)
            .map(|number| {
                at(
                    1000 + number,
                    "server",
                    if number == 77 { 30 * look } else { 0 },
                )
            })
            .collect();
        account.look(look as i64 * LOOK_NS, &threads);
    }
    let server = &of_server(account, 10 * LOOK_NS)[0];
    near(server.wait_share, 0.3);
    near(server.waited_s, 0.3);
    assert_eq!(server.threads, 200);
}

#[test]
fn threads_that_still_wait_at_the_end_do_not_add_up_in_the_share() {
    let mut account = Account::default();
    let threads = |ran_ns: u64| -> Vec<Seen> {
        (0..200)
            .map(|number| Seen {
                state: State::Runnable,
                times: Some(SchedStat {
                    ran_ns,
                    waited_ns: 0,
                    turns: 1,
                }),
                ..at(1000 + number, "server", 0)
            })
            .collect()
    };
    account.look(0, &[]);
    for look in 1..=99 {
        account.look(look * LOOK_NS, &threads(look as u64));
    }
    // None has run since the last look.
    account.finish(100 * LOOK_NS, &threads(99));
    let server = &account.of(SERVER)[0];
    near(server.wait_share, 0.01);
    near(server.waited_s, 20.0);
}

#[test]
fn what_a_program_waited_before_it_changed_its_name_stays_with_the_former_name() {
    let mut account = Account::default();
    account.look(0, &[]);
    for look in 1..=9 {
        account.look(look * LOOK_NS, &[at(7, "python3", 90 * look as u64)]);
    }
    account.look(SECOND_NS, &[at(7, "worker", 9 * 90)]);
    let [python3, worker] = &of_server(account, SECOND_NS)[..] else {
        panic!("it had two names");
    };
    assert_eq!((&*python3.program, &*worker.program), ("python3", "worker"));
    near(python3.wait_share, 0.9);
    near(python3.wait_max_ms, 90.0);
    near(worker.wait_share, 0.0);
}

#[test]
fn the_memory_of_a_program_is_the_most_that_its_processes_held_together() {
    let mut account = Account::default();
    let with = |process, bytes| Seen {
        memory_bytes: bytes,
        ..at(process, "sing-box", 0)
    };
    account.look(0, &[with(7, Some(3_000_000))]);
    account.look(
        LOOK_NS,
        &[with(7, Some(4_000_000)), with(8, Some(5_000_000))],
    );
    account.look(
        2 * LOOK_NS,
        &[with(8, Some(6_000_000)), at(9, "a thread", 0)],
    );
    let [thread, program] = &of_server(account, 3 * LOOK_NS)[..] else {
        panic!("two programs were seen");
    };
    near(program.memory_max_mb, 9.0);
    assert_eq!(thread.memory_max_mb, None);
}
