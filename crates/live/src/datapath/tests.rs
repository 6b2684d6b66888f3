//! The datapath between two socket pairs that stand for TUN devices: the same frames, no privilege, and what a host
//! would send and see is in the test's hands.

mod capture;
mod tunnel;

use super::{Capture, Datapath, DatapathReport, DatapathSpec, TunnelSetup, start};
use bentpipe_base::topology::Link;
use bentpipe_path::config::{ChannelConfig, LossConfig, PipeConfig, ShaperConfig};
use bentpipe_path::{DropCause, Nanos};
use bentpipe_wire::checksum::{fold, sum};
use bentpipe_wire::virtio_net::{self, VirtioNetHeader};
use bentpipe_workloads::{Distribution, ServersSpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const VNET_BYTES: usize = 10;
const MSS: usize = 1448;
const HEADERS: usize = 52;

/// A running datapath, and the hosts' sides of its devices.
pub(super) struct Bed {
    client: OwnedFd,
    server: OwnedFd,
    path: Datapath,
    folder: PathBuf,
}

impl Bed {
    pub(super) fn new(name: &str, up: PipeConfig) -> Self {
        Self::with(name, up, Vec::new(), None)
    }

    fn with(
        name: &str,
        up: PipeConfig,
        servers: Vec<ServersSpec>,
        tunnel: Option<TunnelSetup>,
    ) -> Self {
        let folder = std::env::temp_dir().join(format!("bentpipe-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let (client, client_device) = device();
        let (server, server_device) = device();
        let path = start(DatapathSpec {
            link: Link::Path,
            client: client_device,
            server: server_device,
            vnet_header_bytes: VNET_BYTES,
            down: PipeConfig::default(),
            up,
            tunnel,
            decoded: None,
            servers,
            mtu: 1500,
            seed: 1,
            bin: Nanos::from_millis(100),
            zero_monotonic_ns: super::clock::monotonic_ns(),
            link_csv: Some(folder.join("link.csv")),
            client_pcap: Some(Capture {
                host: "client",
                file: folder.join("client.pcapng"),
            }),
            server_pcap: Some(Capture {
                host: "server",
                file: folder.join("server.pcapng"),
            }),
        })
        .expect("the configuration is valid");
        Self {
            client,
            server,
            path,
            folder,
        }
    }

    pub(super) fn send(&self, frame: &[u8]) {
        rustix::io::write(&self.client, frame).expect("the socket has room");
    }

    /// The next frame at the server, or `None` where none comes for a second.
    pub(super) fn receive(&self) -> Option<Vec<u8>> {
        let mut fds = [PollFd::from_borrowed_fd(self.server.as_fd(), PollFlags::IN)];
        let second = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&second)).expect("poll of a socket");
        let mut frame = vec![0; 70_000];
        match rustix::io::read(&self.server, &mut frame) {
            Ok(length) => {
                frame.truncate(length);
                Some(frame)
            }
            Err(rustix::io::Errno::AGAIN) => None,
            Err(error) => panic!("reading a socket: {error}"),
        }
    }

    pub(super) fn stop(self) -> DatapathReport {
        assert_eq!(self.path.trouble(), None);
        let report = self.path.stop().expect("the files can be written");
        std::fs::remove_dir_all(&self.folder).expect("the folder is ours");
        report
    }
}

fn device() -> (OwnedFd, OwnedFd) {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    pair.expect("a socket pair")
}

/// A TCP super-packet of this much payload, numbered from `seq`.
pub(super) fn super_packet(seq: u32, payload_bytes: usize) -> Vec<u8> {
    super_packet_of(seq, payload_bytes, MSS)
}

fn super_packet_of(seq: u32, payload_bytes: usize, mss: usize) -> Vec<u8> {
    let gso = payload_bytes > mss;
    let vnet = VirtioNetHeader {
        flags: virtio_net::NEEDS_CSUM,
        gso_type: if gso {
            virtio_net::GSO_TCPV4
        } else {
            virtio_net::GSO_NONE
        },
        hdr_len: HEADERS as u16,
        gso_size: if gso { mss as u16 } else { 0 },
        csum_start: 20,
        csum_offset: 16,
    };
    let total = (HEADERS + payload_bytes) as u16;
    let mut frame = vnet.to_bytes()[..VNET_BYTES].to_vec();
    let mut network = vec![0x45, 0];
    network.extend(total.to_be_bytes());
    network.extend([0, 7, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
    let checksum = !fold(sum(&network));
    network[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(network);
    frame.extend([0x9c, 0x40, 0x14, 0x51]);
    frame.extend(seq.to_be_bytes());
    frame.extend([0, 0, 0, 1, 0x80, 0x18, 1, 0, 0, 0, 0, 0]);
    let pseudo = [10, 77, 0, 1, 10, 77, 0, 2, 0, 6];
    let pseudo = sum(&pseudo) + u64::from(total - 20);
    let at = frame.len() - 4;
    frame[at..at + 2].copy_from_slice(&fold(pseudo).to_be_bytes());
    frame.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0]);
    frame.extend((0..payload_bytes).map(|at| at as u8));
    frame
}

fn seq(frame: &[u8]) -> u32 {
    let at = VNET_BYTES + 24;
    u32::from_be_bytes(frame[at..at + 4].try_into().expect("four bytes"))
}

fn payload_bytes(frame: &[u8]) -> usize {
    frame.len() - VNET_BYTES - HEADERS
}

/// The same to another address.
fn to(mut frame: Vec<u8>, address: [u8; 4]) -> Vec<u8> {
    frame[VNET_BYTES + 16..VNET_BYTES + 20].copy_from_slice(&address);
    frame
}

fn channel(channel: ChannelConfig) -> PipeConfig {
    PipeConfig {
        channel,
        ..PipeConfig::default()
    }
}

#[test]
fn over_an_unshaped_path_a_super_packet_leaves_whole_and_counts_as_its_segments() {
    let bed = Bed::new("whole", PipeConfig::default());
    let sent = super_packet(1, 40 * MSS + 10);
    bed.send(&sent);
    assert_eq!(bed.receive(), Some(sent));
    let report = bed.stop();
    assert_eq!(report.up.writes, 1);
    assert_eq!(report.up.totals.delivered.packets, 41);
    assert_eq!(
        report.up.totals.delivered.bytes,
        (41 * HEADERS + 40 * MSS + 10) as u64
    );
    assert_eq!(report.up.lateness.len(), 41);
    assert_eq!(report.engine_error().all.unintended_loss, 0);
}

#[test]
fn around_a_lost_segment_a_super_packet_leaves_in_two() {
    let mut lost = vec![false; 8];
    lost[3] = true;
    let loss = LossConfig::Trace { lost };
    let bed = Bed::new(
        "lost",
        channel(ChannelConfig {
            loss,
            ..ChannelConfig::default()
        }),
    );
    bed.send(&super_packet(1000, 8 * MSS));
    let (before, after) = (bed.receive().expect("a run"), bed.receive().expect("a run"));
    assert_eq!((seq(&before), payload_bytes(&before)), (1000, 3 * MSS));
    assert_eq!(
        (seq(&after), payload_bytes(&after)),
        (1000 + 4 * MSS as u32, 4 * MSS)
    );
    let report = bed.stop();
    assert_eq!(report.up.totals.dropped_by(DropCause::Channel).packets, 1);
    assert_eq!(
        report.engine_error().all.unintended_loss,
        0,
        "the model meant it"
    );
}

#[test]
fn a_slow_shaper_sends_segments_one_by_one() {
    let shaper = ShaperConfig::Fixed {
        rate_bit_s: 10_000_000,
    };
    let bed = Bed::new(
        "slow",
        PipeConfig {
            shaper,
            ..PipeConfig::default()
        },
    );
    bed.send(&super_packet(0, 5 * MSS));
    for index in 0..5 {
        let frame = bed.receive().expect("a segment");
        assert_eq!(
            (seq(&frame), payload_bytes(&frame)),
            (index * MSS as u32, MSS)
        );
        assert_eq!(
            VirtioNetHeader::parse(&frame).expect("a header").gso_type,
            virtio_net::GSO_NONE
        );
    }
    assert_eq!(bed.stop().up.writes, 5);
}

#[test]
fn a_duplicate_leaves_twice_and_alone() {
    let duplicate = ChannelConfig {
        duplicate: 1.0,
        ..ChannelConfig::default()
    };
    let bed = Bed::new("twice", channel(duplicate));
    bed.send(&super_packet(0, 2 * MSS));
    let seqs: Vec<u32> = (0..4)
        .filter_map(|_| bed.receive())
        .map(|frame| seq(&frame))
        .collect();
    let second = MSS as u32;
    // Neighbours that follow each other in sequence may share a super-packet; a twin never does.
    assert!(
        seqs == [0, 0, second] || seqs == [0, 0, second, second],
        "{seqs:?}"
    );
    assert_eq!(bed.stop().up.totals.duplicated.packets, 2);
}

#[test]
fn a_corrupted_segment_leaves_alone_with_a_checksum_that_fails() {
    let corrupt = ChannelConfig {
        corrupt: 1.0,
        ..ChannelConfig::default()
    };
    let bed = Bed::new("corrupt", channel(corrupt));
    bed.send(&super_packet(0, 2 * MSS));
    for _ in 0..2 {
        let frame = bed.receive().expect("a segment");
        let vnet = VirtioNetHeader::parse(&frame).expect("a header");
        assert!(!vnet.needs_csum(), "the receiver must look at the checksum");
        let mut covered = vec![10, 77, 0, 1, 10, 77, 0, 2, 0, 6];
        covered.extend(((frame.len() - VNET_BYTES - 20) as u16).to_be_bytes());
        covered.extend(&frame[VNET_BYTES + 20..]);
        assert_ne!(fold(sum(&covered)), 0xffff);
    }
    assert_eq!(bed.stop().up.totals.corrupted_packets, 2);
}

/// Enhanced packet blocks of a little-endian pcapng file (draft-ietf-opsawg-pcapng, section 4.3).
fn packet_blocks(file: &[u8]) -> u64 {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut blocks) = (0, 0);
    while at < file.len() {
        blocks += u64::from(word(at) == 6);
        at += word(at + 4) as usize;
    }
    blocks
}

#[test]
fn a_receiver_without_room_is_a_loss_that_the_model_did_not_mean() {
    let bed = Bed::new("full", PipeConfig::default());
    for packet in 0..400 {
        bed.send(&super_packet(packet * 1000, 1000));
        std::thread::sleep(Duration::from_micros(100));
    }
    let sent = Instant::now();
    while bed.path.trouble().is_none() && sent.elapsed() < Duration::from_millis(200) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut received = 0;
    let mut frame = vec![0; 70_000];
    while rustix::io::read(&bed.server, &mut frame).is_ok() {
        received += 1;
    }
    let capture = bed.folder.with_extension("full.pcapng");
    std::fs::hard_link(bed.folder.join("server.pcapng"), &capture)
        .expect("the folder is on one file system");
    let report = bed.stop();
    let captured = packet_blocks(&std::fs::read(&capture).expect("the capture is written"));
    std::fs::remove_file(&capture).expect("it is ours");
    assert!(received < 400, "a socket takes fewer than this");
    assert_eq!(
        captured, received,
        "a capture holds what the host was given"
    );
    assert_eq!(report.up.unintended_loss.socket_buffer, 400 - received);
    assert_eq!(report.engine_error().all.unintended_loss, 400 - received);
}

#[test]
fn a_frame_cut_short_is_a_loss_that_the_model_did_not_mean() {
    let bed = Bed::new("short", PipeConfig::default());
    let whole = super_packet(0, 1000);
    bed.send(&whole[..600]);
    bed.send(&whole);
    assert_eq!(bed.receive(), Some(whole));
    assert_eq!(bed.stop().up.unintended_loss.truncated, 1);
}

#[test]
fn the_bins_add_up_to_the_totals() {
    let bed = Bed::new("bins", PipeConfig::default());
    for packet in 0..10 {
        bed.send(&super_packet(packet * 2000, 2000));
        bed.receive();
        std::thread::sleep(Duration::from_millis(30));
    }
    let csv = bed.folder.join("link.csv");
    let copy = bed.folder.with_extension("csv");
    std::fs::hard_link(&csv, &copy).expect("the same folder's parent");
    let report = bed.stop();
    let text = std::fs::read_to_string(&copy).expect("it was written");
    std::fs::remove_file(&copy).expect("it is ours");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let up = |column: usize| {
        rows.iter()
            .filter(|row| row[1] == "up")
            .map(move |row| row[column].to_owned())
    };
    let sum = |column| {
        up(column)
            .map(|value| value.parse::<u64>().expect("a count"))
            .sum::<u64>()
    };
    assert!(up(0).count() >= 3);
    assert_eq!(sum(2), report.up.totals.offered.bytes);
    assert_eq!(sum(3), report.up.totals.delivered.bytes);
    assert_eq!(sum(4), 20_000, "each payload byte once");
    assert_eq!(sum(6), 20);
}

#[test]
fn what_no_pipe_can_be_built_from_is_refused_at_the_start() {
    let (_client, client) = device();
    let (_server, server) = device();
    let shaper = ShaperConfig::Fixed { rate_bit_s: 0 };
    let error = start(DatapathSpec {
        link: Link::Path,
        client,
        server,
        vnet_header_bytes: VNET_BYTES,
        down: PipeConfig::default(),
        up: PipeConfig {
            shaper,
            ..PipeConfig::default()
        },
        tunnel: None,
        decoded: None,
        servers: Vec::new(),
        mtu: 1500,
        seed: 1,
        bin: Nanos::from_millis(100),
        zero_monotonic_ns: 0,
        link_csv: None,
        client_pcap: None,
        server_pcap: None,
    })
    .expect_err("a rate of zero");
    assert!(error.to_string().contains("rate_bit_s"), "{error}");
}

#[test]
fn a_device_that_goes_away_is_trouble() {
    let bed = Bed::new("gone", PipeConfig::default());
    drop((bed.client, bed.server));
    let since = Instant::now();
    while bed.path.trouble().is_none() && since.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let trouble = bed.path.trouble().expect("both ends are closed");
    assert!(trouble.contains("pipe's device failed"), "{trouble}");
    bed.path.stop().expect("the files can be written");
    std::fs::remove_dir_all(&bed.folder).expect("the folder is ours");
}

/// A server at this distance.
fn at(name: &str, millis: u64) -> ServersSpec {
    ServersSpec {
        name: name.into(),
        servers: 1,
        delay: Distribution::Constant {
            value: millis * 1_000_000,
        },
        jitter: Nanos::ZERO,
    }
}

#[test]
fn what_goes_to_a_server_far_away_arrives_after_what_is_sent_later_to_a_near_one() {
    let servers = vec![at("far", 300), at("near", 100)];
    let bed = Bed::with("servers", PipeConfig::default(), servers, None);
    bed.send(&to(super_packet(1, 4 * MSS), [10, 77, 2, 1]));
    bed.send(&to(super_packet(2, 100), [10, 77, 2, 2]));
    bed.send(&super_packet(3, 100));
    let seen = [(); 3].map(|()| {
        bed.receive()
            .map(|frame| (seq(&frame), payload_bytes(&frame)))
    });
    assert_eq!(
        seen,
        [Some((3, 100)), Some((2, 100)), Some((1, 4 * MSS))],
        "the far server's is whole, since its segments belong together"
    );
    let report = bed.stop();
    assert_eq!(report.up.totals.delivered.packets, 6);
    assert_eq!(report.engine_error().all.lateness_count, 6);
}
