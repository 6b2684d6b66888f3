//! The datapath against this machine's kernel: what it cuts, marks and corrupts is taken as meant by a real TCP and
//! a real UDP. Runs as root, or else in a user namespace (`unshare --map-root-user`).

#[allow(dead_code)]
#[path = "../examples/bench_live/bed.rs"]
mod bed;

use bed::{Bed, Endpoint, VNET_BYTES, in_thread};
use bentpipe_base::topology::Link;
use bentpipe_live::datapath::{self, DatapathReport, DatapathSpec};
use bentpipe_path::config::{
    ChannelConfig, Discipline, LossConfig, PipeConfig, PropagationConfig, QueueConfig, QueueLimit,
    ShaperConfig,
};
use bentpipe_path::time::Nanos;
use bentpipe_wire::tcp_info::TcpInfo;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs `claim` with a datapath whose `up` pipe (client to server) is `up`, and gives the datapath's report. `None`
/// in the process that only started another, which was privileged.
fn with_path(test: &str, up: PipeConfig, claim: impl FnOnce(&Bed)) -> Option<DatapathReport> {
    if !rustix::process::geteuid().is_root() {
        let status = Command::new("unshare")
            .args(["--user", "--map-root-user"])
            .arg(std::env::current_exe().expect("this test"))
            .args(["--exact", test])
            .status()
            .expect("unshare is installed (util-linux)");
        assert!(status.success(), "{test} failed in a user namespace");
        return None;
    }
    let bed = Bed::new().expect("two hosts");
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let path = datapath::start(DatapathSpec {
        link: Link::Path,
        client: bed.client.device.try_clone().expect("a descriptor"),
        server: bed.server.device.try_clone().expect("a descriptor"),
        vnet_header_bytes: VNET_BYTES,
        down: PipeConfig {
            propagation: up.propagation,
            ..PipeConfig::default()
        },
        up,
        tunnel: None,
        decoded: None,
        servers: Vec::new(),
        mtu: 1500,
        seed: 1,
        bin: Nanos::from_millis(100),
        zero_monotonic_ns: now.tv_sec * 1_000_000_000 + now.tv_nsec,
        link_csv: None,
        client_pcap: None,
        server_pcap: None,
    })
    .expect("the configuration is valid");
    claim(&bed);
    assert_eq!(path.trouble(), None);
    Some(path.stop().expect("the files can be written"))
}

/// Sends `bytes` from the client to the server over TCP, and checks that they arrive as they were.
fn transfer(bed: &Bed, address: &'static str, bytes: usize) {
    let sent: Vec<u8> = (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect();
    let listener = bed
        .server
        .enter(move || TcpListener::bind(address))
        .expect("a port");
    std::thread::scope(|scope| {
        let received = scope.spawn(move || {
            let (mut stream, _) = listener.accept()?;
            let mut received = Vec::new();
            stream.read_to_end(&mut received)?;
            Ok::<_, std::io::Error>(received)
        });
        let stream = bed.client.enter(move || TcpStream::connect(address));
        let mut stream = stream.expect("the server listens");
        stream.write_all(&sent).expect("the path carries it");
        drop(stream);
        let received = received
            .join()
            .expect("no panic")
            .expect("the path carries it");
        assert!(
            received == sent,
            "{} of {bytes} bytes, or others",
            received.len()
        );
    });
}

/// A counter of `/proc/net/netstat` or `/proc/net/snmp`.
fn counter(host: &Endpoint, file: &str, group: &str, name: &str) -> u64 {
    let text = host
        .output(&format!("cat /proc/net/{file}"))
        .expect("proc is there");
    let mut lines = text
        .lines()
        .filter(|line| line.split(':').next() == Some(group));
    let names = lines.next().expect("names").split_whitespace();
    let values = lines.next().expect("values").split_whitespace();
    let value = names.zip(values).find(|(found, _)| *found == name);
    value
        .expect("the kernel counts it")
        .1
        .parse()
        .expect("a number")
}

fn shaped(rate_bit_s: u64) -> PipeConfig {
    PipeConfig {
        shaper: ShaperConfig::Fixed { rate_bit_s },
        ..PipeConfig::default()
    }
}

#[test]
fn tcp_crosses_a_shaped_path_byte_for_byte_over_ipv4_and_ipv6() {
    let name = "tcp_crosses_a_shaped_path_byte_for_byte_over_ipv4_and_ipv6";
    let Some(report) = with_path(name, shaped(200_000_000), |bed| {
        transfer(bed, "10.77.0.2:5001", 3_000_000);
        transfer(bed, "[fd77::2]:5001", 3_000_000);
        assert_eq!(counter(&bed.server, "snmp", "Tcp", "InCsumErrors"), 0);
    }) else {
        return;
    };
    assert_eq!(report.engine_error().all.unintended_loss, 0);
    assert_eq!(report.up.totals.dropped_in_all().packets, 0);
}

#[test]
fn what_is_left_of_super_packets_around_losses_is_taken_as_super_packets() {
    let name = "what_is_left_of_super_packets_around_losses_is_taken_as_super_packets";
    let lossy = PipeConfig {
        channel: ChannelConfig {
            loss: LossConfig::Bernoulli { p: 0.01 },
            ..ChannelConfig::default()
        },
        ..PipeConfig::default()
    };
    let Some(report) = with_path(name, lossy, |bed| {
        transfer(bed, "10.77.0.2:5001", 3_000_000);
        transfer(bed, "[fd77::2]:5001", 3_000_000);
        assert_eq!(counter(&bed.server, "snmp", "Tcp", "InCsumErrors"), 0);
    }) else {
        return;
    };
    assert_eq!(report.engine_error().all.unintended_loss, 0);
    let (segments, writes) = (report.up.totals.delivered.packets, report.up.writes);
    assert!(writes < segments, "{segments} segments in {writes} writes");
}

#[test]
fn a_corrupted_segment_fails_the_receivers_checksum_and_tcp_repairs_it() {
    let name = "a_corrupted_segment_fails_the_receivers_checksum_and_tcp_repairs_it";
    let corrupting = PipeConfig {
        channel: ChannelConfig {
            corrupt: 0.02,
            duplicate: 0.02,
            ..ChannelConfig::default()
        },
        ..shaped(200_000_000)
    };
    let Some(report) = with_path(name, corrupting, |bed| {
        transfer(bed, "10.77.0.2:5001", 1_000_000);
        transfer(bed, "[fd77::2]:5001", 1_000_000);
        assert!(counter(&bed.server, "snmp", "Tcp", "InCsumErrors") > 0);
    }) else {
        return;
    };
    assert!(report.up.totals.corrupted_packets > 0);
}

#[test]
fn a_marking_queue_is_seen_by_the_receivers_ip_as_congestion_experienced() {
    let name = "a_marking_queue_is_seen_by_the_receivers_ip_as_congestion_experienced";
    let marking = PipeConfig {
        queue: QueueConfig {
            limit: QueueLimit::Bytes { bytes: 1_000_000 },
            discipline: Discipline::Codel {
                target_ns: Some(Nanos::from_millis(1)),
                interval_ns: Some(Nanos::from_millis(20)),
            },
            ecn: true,
            titration: None,
        },
        propagation: PropagationConfig {
            delay_ns: Nanos::from_millis(5),
            ..PropagationConfig::default()
        },
        ..shaped(50_000_000)
    };
    let Some(report) = with_path(name, marking, |bed| {
        for host in [&bed.client, &bed.server] {
            let on = || std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1");
            host.enter(on).expect("a sysctl of the namespace");
        }
        transfer(bed, "10.77.0.2:5001", 6_000_000);
        assert!(counter(&bed.server, "netstat", "IpExt", "InCEPkts") > 0);
        assert_eq!(counter(&bed.server, "snmp", "Tcp", "InCsumErrors"), 0);
        assert_eq!(counter(&bed.server, "snmp", "Ip", "InHdrErrors"), 0);
    }) else {
        return;
    };
    assert!(report.up.totals.marked_packets > 0);
}

#[test]
fn datagrams_sent_as_one_arrive_one_by_one() {
    let name = "datagrams_sent_as_one_arrive_one_by_one";
    let Some(report) = with_path(name, shaped(100_000_000), |bed| {
        for address in ["10.77.0.2:5002", "[fd77::2]:5002"] {
            let address: SocketAddr = address.parse().expect("an address");
            let server = bed
                .server
                .enter(move || UdpSocket::bind(address))
                .expect("a port");
            server
                .set_read_timeout(Some(Duration::from_secs(5)))
                .expect("a socket");
            let any = if address.is_ipv4() {
                "0.0.0.0:0"
            } else {
                "[::]:0"
            };
            let client = bed
                .client
                .enter(move || UdpSocket::bind(any))
                .expect("a port");
            let size: libc::c_int = 1000;
            // SAFETY: setsockopt reads an int for the length of the call.
            let set = unsafe {
                let value = (&raw const size).cast();
                libc::setsockopt(
                    client.as_raw_fd(),
                    libc::SOL_UDP,
                    libc::UDP_SEGMENT,
                    value,
                    4,
                )
            };
            assert_eq!(set, 0, "a kernel of 4.18 or later");
            let sent: Vec<u8> = (0..7500_u32).map(|at| (at / 30) as u8).collect();
            client.send_to(&sent, address).expect("the path carries it");
            let mut received = [0; 2000];
            for expected in sent.chunks(1000) {
                let length = server.recv(&mut received).expect("each arrives");
                assert_eq!(&received[..length], expected);
            }
        }
        assert_eq!(counter(&bed.server, "snmp", "Udp", "InCsumErrors"), 0);
    }) else {
        return;
    };
    assert!(report.up.totals.delivered.packets >= 16);
}

#[test]
fn a_namespace_made_in_a_thread_is_that_threads_alone() {
    let link = || std::fs::read_link("/proc/thread-self/ns/net");
    let here = link().expect("proc is there");
    assert_eq!(in_thread(link).expect("proc is there"), here);
}

/// The least round trip that the kernel saw on a connection.
fn least_rtt_s(stream: &TcpStream) -> f64 {
    let mut bytes = [0; 256];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: getsockopt writes at most `length` bytes to the buffer, and the length to its place.
    let got = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    assert_eq!(got, 0, "a TCP socket tells");
    TcpInfo(&bytes[..length as usize])
        .min_rtt_s()
        .expect("a kernel of 4.9 or later")
}

/// A busy loop on each processor, until dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn new() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(over)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The least round trip of 60 pings.
fn least_ping_s(bed: &Bed) -> f64 {
    let output = bed.client.output("ping -q -i 0.02 -c 60 10.77.0.2");
    let text = output.expect("ping is installed");
    let least = text.split("mdev = ").nth(1);
    let least = least.and_then(|it| it.split('/').next()?.parse::<f64>().ok());
    least.expect("ping's summary") / 1e3
}

#[test]
fn on_a_busy_machine_no_round_trip_is_shorter_than_the_path() {
    let name = "on_a_busy_machine_no_round_trip_is_shorter_than_the_path";
    let one_way = Nanos::from_millis(10);
    let path = PipeConfig {
        propagation: PropagationConfig {
            delay_ns: one_way,
            ..PropagationConfig::default()
        },
        ..shaped(100_000_000)
    };
    let base_s = 2.0 * one_way.0 as f64 / 1e9;
    with_path(name, path, |bed| {
        let _busy = Busy::new();
        let (ping_s, tcp_s) = std::thread::scope(|scope| {
            let ping = scope.spawn(|| least_ping_s(bed));
            let listener = bed.server.enter(|| TcpListener::bind("10.77.0.2:5001"));
            let listener = listener.expect("a port");
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().expect("the client connects");
                std::io::copy(&mut stream, &mut std::io::sink())
            });
            let stream = bed.client.enter(|| TcpStream::connect("10.77.0.2:5001"));
            let mut stream = stream.expect("the server listens");
            for _ in 0..40 {
                stream
                    .write_all(&vec![0; 50_000])
                    .expect("the path carries it");
                std::thread::sleep(Duration::from_millis(20));
            }
            (ping.join().expect("no panic"), least_rtt_s(&stream))
        });
        assert!(ping_s >= base_s, "ping: {ping_s} s");
        assert!(tcp_s >= base_s, "TCP: {tcp_s} s");
    });
}
