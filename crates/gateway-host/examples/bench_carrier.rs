//! `make bench-carrier`: what near and far cost together with their carrier, through real sockets on the loopback device.
//!
//! A host sends bytes over TCP to near, QUIC carries them to far, and far gives them to another host. Both gateways' threads share one
//! processor; the hosts are on another one, if there is one. What is printed is processor time of the two gateways' threads, the
//! kernel's work for them included, so other load hardly changes it. Losses are drawn from a seed at near's socket.
//!
//! Arguments: `--udp-payload 1452`, `--gigabytes 2`, `--rate 3` (Gbit/s, the gateways' own), `--loss 0.01` (only this one).

use bentpipe_base::SplitMix64;
use bentpipe_carrier::identity::Identity;
use bentpipe_carrier::quic;
use bentpipe_gateway::{Config, ResetCode, Target, null};
use bentpipe_gateway_host::{ChoiceConfig, Gateway, Peer, Report, Setup, Stop, reset_code};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use rustix::thread::{CpuSet, gettid, sched_setaffinity};
use std::fs::read_to_string;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

/// As the daemon has it.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const IP_AND_UDP: u32 = 28;
/// Of what is sent, so much is for warming up.
const WARM_UP: u64 = 10;

#[derive(Clone, Copy)]
struct Arguments {
    udp_payload: u16,
    bytes: u64,
    rate: u64,
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Moves the calling thread to one processor, if the machine has it and allows it.
fn stay_at(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    let _ = sched_setaffinity(None, &set);
}

struct Running {
    stop: Stop,
    thread_id: i32,
    thread: JoinHandle<std::io::Result<Report>>,
}

impl Running {
    fn start(name: &str, setup: Setup) -> Self {
        let stop = Stop::new().expect("an eventfd");
        let gateway = Gateway::new(setup, stop.clone()).expect("a gateway");
        let (tell, told) = channel();
        let runs = move || {
            stay_at(0);
            let id = gettid().as_raw_nonzero().get();
            tell.send(id).expect("the other end waits");
            gateway.run()
        };
        let thread = Builder::new().name(name.into()).spawn(runs);
        let thread = thread.expect("a thread");
        let thread_id = told.recv().expect("a thread");
        Self {
            stop,
            thread_id,
            thread,
        }
    }

    /// Processor time of its thread, in nanoseconds.
    fn processor_ns(&self) -> u64 {
        let file = format!("/proc/self/task/{}/schedstat", self.thread_id);
        let stat = read_to_string(file).unwrap_or_default();
        let first = stat.split_whitespace().next();
        first.and_then(|it| it.parse().ok()).unwrap_or(0)
    }

    fn stop(self) -> Report {
        self.stop.raise().expect("an eventfd");
        let ended = self.thread.join().expect("no panic");
        ended.expect("a gateway runs until it is stopped")
    }
}

fn bound() -> (OwnedFd, SocketAddr) {
    let socket = UdpSocket::bind(any()).expect("a UDP socket");
    socket.set_nonblocking(true).expect("a UDP socket");
    let at = socket.local_addr().expect("it is bound");
    (socket.into(), at)
}

fn onward(to: SocketAddr) -> Result<OwnedFd, ResetCode> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let begun = || {
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        match connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error),
        }
    };
    begun().map_err(reset_code)
}

fn measure(arguments: Arguments, loss: f64) {
    let Arguments {
        udp_payload,
        bytes,
        rate,
    } = arguments;
    let server = TcpListener::bind(any()).expect("a listener");
    let to = server.local_addr().expect("it is bound");
    let identities = [1, 2].map(|number| Identity::from_seed([number; 32]));
    let keys = identities.each_ref().map(Identity::public);
    let [near_identity, far_identity] = identities;
    let carrier = quic::Config {
        certain_udp_payload: udp_payload,
        largest_udp_payload: udp_payload,
        ..quic::Config::default()
    };
    let setup = |identity, peer, udp, listeners: Vec<OwnedFd>| Setup {
        session: Config::fixed(rate, IP_AND_UDP + null::OVERHEAD_BYTES as u32),
        carrier: carrier.clone(),
        identity,
        peer,
        udp,
        listeners: listeners.into_iter().map(Into::into).collect(),
        onward: Box::new(move |_: &Target| onward(to)),
        most_connections: 10,
        most_user_associations: 10,
        on_delivered: None,
        loses: None,
        tcp: None,
        transparent_udp: Vec::new(),
        tun: None,
        choice: ChoiceConfig::default(),
    };
    let (udp, address) = bound();
    let peer = Peer::Near { key: keys[0] };
    let far = Running::start("far", setup(far_identity, peer, udp, Vec::new()));
    let listener = TcpListener::bind(any()).expect("a listener");
    listener.set_nonblocking(true).expect("a listener");
    let entry = listener.local_addr().expect("it is bound");
    let peer = Peer::Far {
        address,
        key: keys[1],
    };
    let mut of_near = setup(near_identity, peer, bound().0, vec![listener.into()]);
    if loss > 0.0 {
        let mut random = SplitMix64(1);
        of_near.loses = Some(Box::new(move || {
            ((random.draw() >> 11) as f64 / (1_u64 << 53) as f64) < loss
        }));
    }
    let near = Running::start("near", of_near);

    let warm_up = bytes / WARM_UP;
    let source = std::thread::spawn(move || {
        stay_at(1);
        let mut stream = TcpStream::connect(entry).expect("near listens");
        let block = vec![7; 256 << 10];
        let mut left = warm_up + bytes;
        while left > 0 {
            let most = block.len().min(left as usize);
            stream.write_all(&block[..most]).expect("near takes it");
            left -= most as u64;
        }
        // Read to the end: the connection stays until far has given everything.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read(&mut [0]);
    });
    stay_at(1);
    let mut stream = server.accept().expect("far connects").0;
    let mut buffer = vec![0; 256 << 10];
    let mut read_until = |all: &mut u64, end: u64| {
        while *all < end {
            match stream.read(&mut buffer).expect("far gives it") {
                0 => break,
                length => *all += length as u64,
            }
        }
    };
    let mut all = 0;
    read_until(&mut all, warm_up);
    let processor = || [near.processor_ns(), far.processor_ns()];
    let (before, start, from) = (processor(), Instant::now(), all);
    read_until(&mut all, warm_up + bytes);
    let (after, took) = (processor(), start.elapsed().as_secs_f64());
    assert_eq!(all, warm_up + bytes, "every byte arrives");
    drop(stream);
    source.join().expect("no panic");
    let [near, far] = [near.stop(), far.stop()];

    let bits = 8.0 * (all - from) as f64;
    let [of_near, of_far] = [0, 1].map(|at| (after[at] - before[at]) as f64 / 1e9);
    println!(
        "  {:4} % loss: {:.2} Gbit/s of processor time (near {:.2} s, far {:.2} s for {:.1} Gbit), {:.2} Gbit/s by the clock",
        100.0 * loss,
        bits / (of_near + of_far) / 1e9,
        of_near,
        of_far,
        bits / 1e9,
        bits / took / 1e9,
    );
    let sender = near.session.sender;
    println!(
        "        packets {}, sent again {}, repairs {}; found a full buffer: {} at far, {} at near",
        sender.sources, sender.exact_repairs, sender.repairs, far.udp.overflow, near.udp.overflow,
    );
}

fn main() {
    let mut arguments = Arguments {
        udp_payload: 1452,
        bytes: 1_000_000_000,
        rate: 2_500_000_000,
    };
    let mut losses = vec![0.0, 0.01];
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().and_then(|it| it.parse::<f64>().ok());
        let value = value.unwrap_or_else(|| panic!("{word} needs a number"));
        match word.as_str() {
            "--udp-payload" => arguments.udp_payload = value as u16,
            "--gigabytes" => arguments.bytes = (value * 1e9) as u64,
            "--rate" => arguments.rate = (value * 1e9) as u64,
            "--loss" => losses = vec![value],
            _ => panic!(
                "unknown argument {word}, expected --udp-payload, --gigabytes, --rate or --loss"
            ),
        }
    }
    println!(
        "Near and far with QUIC on one processor, one TCP connection through both, UDP payload {} bytes, rate {} Gbit/s:",
        arguments.udp_payload,
        arguments.rate as f64 / 1e9
    );
    for loss in losses {
        measure(arguments, loss);
    }
}
