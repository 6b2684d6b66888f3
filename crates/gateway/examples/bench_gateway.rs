//! `make bench-protocol`: what near and far cost together on one core, and the memory of many flows.
//!
//! Both sessions run in virtual time and hand each other their datagrams: there is no carrier, so no cryptography and no system call. The
//! times are this process's processor time, so other load hardly changes them.

use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_gateway::{Config, Event, FlowId, Role, Session, Target};
use std::collections::VecDeque;
use std::fs::read_to_string;
use std::net::{Ipv4Addr, SocketAddr};

const DATAGRAM: usize = 1400;
const OUTER: u32 = 59;
const ONE_WAY: Nanos = Nanos::from_millis(10);
/// More than three round trips at 10 Gbit/s. More of them are first written late in the run, and the kernel's work for new memory is not what
/// is measured.
const KEPT_PACKETS: u32 = 1 << 16;
const FLOWS: usize = 10_000;

/// Processor time of this process, in nanoseconds.
fn processor_ns() -> u64 {
    let stat = read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = stat.split_whitespace().next();
    first.and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// Resident memory of this process.
fn memory_bytes() -> u64 {
    let stat = read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = stat.split_whitespace().nth(1);
    4096 * pages.and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn target() -> Target {
    let at = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    Target {
        destination: at(80),
        source: at(1024),
    }
}

struct Ends {
    now: Time,
    sessions: [Session; 2],
    /// To near and to far, with the time at which each comes.
    under_way: [VecDeque<(Time, Vec<u8>)>; 2],
    spare: Vec<Vec<u8>>,
    loss: f64,
    random: SplitMix64,
}

impl Ends {
    fn new(bit_s: u64, loss: f64) -> Self {
        let config = Config {
            kept_packets: KEPT_PACKETS,
            ..Config::fixed(bit_s, OUTER)
        };
        let session =
            |role, seed| Session::new(config, role, seed, seed).expect("these settings work");
        let mut sessions = [session(Role::Near, 1), session(Role::Far, 2)];
        for session in &mut sessions {
            session.on_carrier_connected(Time::ZERO, DATAGRAM);
        }
        for from in [0, 1] {
            while let Some(message) = sessions[from].poll_control() {
                sessions[1 - from].handle_control(Time::ZERO, &message);
            }
        }
        Self {
            now: Time::ZERO,
            sessions,
            under_way: [VecDeque::new(), VecDeque::new()],
            spare: Vec::new(),
            loss,
            random: SplitMix64(1),
        }
    }

    /// Lets all happen that is due, and moves on to the next time.
    fn step(&mut self) {
        for from in [0, 1] {
            loop {
                let mut datagram = self.spare.pop().unwrap_or_default();
                datagram.clear();
                if self.sessions[from]
                    .poll_datagram(self.now, &mut datagram)
                    .is_none()
                {
                    self.spare.push(datagram);
                    break;
                }
                let draw = (self.random.draw() >> 11) as f64 / (1_u64 << 53) as f64;
                if draw < self.loss {
                    self.spare.push(datagram);
                } else {
                    self.under_way[1 - from].push_back((self.now + ONE_WAY, datagram));
                }
            }
        }
        let timers = self.sessions.iter().filter_map(Session::poll_timeout);
        let comes = self
            .under_way
            .iter()
            .filter_map(|it| it.front())
            .map(|it| it.0);
        let next = timers.chain(comes).min().unwrap_or(self.now);
        self.now = self.now.max(next);
        for to in [0, 1] {
            while let Some((_, datagram)) = self.under_way[to].pop_front_if(|it| it.0 <= self.now) {
                self.sessions[to].handle_datagram(self.now, &datagram);
                self.spare.push(datagram);
            }
        }
    }

    fn events(&mut self, at: usize) -> Vec<Event> {
        core::iter::from_fn(|| self.sessions[at].poll_event()).collect()
    }
}

/// Sends so many bytes on one flow, and returns bits per second of processor time.
fn speed(bytes: u64, loss: f64) -> f64 {
    let mut ends = Ends::new(10_000_000_000, loss);
    let flow = ends.sessions[0].open(1, &target()).expect("a session");
    let block = vec![7; 64 << 10];
    let (mut left, mut read) = (bytes, 0);
    let start = processor_ns();
    while read < bytes {
        while left > 0 {
            let most = block.len().min(left as usize);
            let taken = ends.sessions[0].write(flow, &block[..most]);
            left -= taken as u64;
            if taken < most {
                break;
            }
        }
        ends.step();
        ends.events(0);
        ends.events(1);
        loop {
            let ready = ends.sessions[1].readable(flow).len();
            if ready == 0 {
                break;
            }
            ends.sessions[1].consume(flow, ready);
            read += ready as u64;
        }
    }
    8.0 * bytes as f64 * 1e9 / (processor_ns() - start) as f64
}

/// Memory of idle flows, and with so many bytes waiting in both directions, beyond that of a session without flows.
fn flows(waiting: usize) -> [u64; 2] {
    let mut ends = Ends::new(1_000_000_000, 0.0);
    let before = memory_bytes();
    let open = |ends: &mut Ends| {
        ends.sessions[0]
            .open(1, &target())
            .expect("room for a flow")
    };
    let opened: Vec<FlowId> = (0..FLOWS).map(|_| open(&mut ends)).collect();
    let settle = |ends: &mut Ends| {
        let end = ends.now + Nanos::from_secs(2);
        while ends.now < end {
            let last = ends.now;
            ends.step();
            ends.events(0);
            ends.events(1);
            if ends.now == last {
                break;
            }
        }
    };
    settle(&mut ends);
    assert_eq!(ends.sessions[1].figures().accepted, FLOWS as u64);
    let idle = memory_bytes() - before;
    let block = vec![7; waiting];
    for session in &mut ends.sessions {
        for &flow in &opened {
            assert_eq!(session.write(flow, &block), waiting);
        }
    }
    settle(&mut ends);
    for session in &ends.sessions {
        assert_eq!(session.waiting_bytes(), (FLOWS * waiting) as u64);
    }
    [idle, memory_bytes() - before]
}

fn main() {
    // Memory first: what is given back to the allocator is not given back to the kernel.
    let [idle, waiting] = flows(1000);
    println!("Memory of {FLOWS} flows, near and far together:");
    println!("  idle: {:.1} MB", idle as f64 / 1e6);
    println!(
        "  1 kB waiting for each host: {:.1} MB",
        waiting as f64 / 1e6
    );
    println!("Near and far together on one core, without a carrier and without cryptography:");
    for (loss, name) in [(0.0, "no loss"), (0.01, "1 % loss")] {
        let bit_s = speed(1_000_000_000, loss);
        println!(
            "  1 GB on one flow, {name:8}: {:.2} Gbit/s of processor time",
            bit_s / 1e9
        );
    }
}
