//! What limits a transfer when the send buffer is smaller than the path: the application's way of filling it.

use bentpipe_base::Direction;
use bentpipe_path::config::{PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::rows::{Captured, IntervalRow, SocketRow};
use bentpipe_sim::seat::{Seat, Side};
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{HttpSpec, WorkloadSpec};

/// What iperf3 writes at once (`DEFAULT_TCP_BLKSIZE`), and how many such blocks between two calls of select(2).
const BLOCK: u64 = 128 * 1024;
const BLOCKS: u64 = 10;

#[derive(Default)]
struct Rows {
    seconds: Vec<IntervalRow>,
    sockets: Vec<SocketRow>,
    /// Of the server, where it is captured: the client's port, and the payload's end in the stream and its length.
    sent: Vec<(u16, u64, u32)>,
}

impl Sink for Rows {
    fn interval(&mut self, row: &IntervalRow) {
        self.seconds.push(*row);
    }
    fn socket(&mut self, row: &SocketRow) {
        self.sockets.push(row.clone());
    }
    fn packet(&mut self, captured: &Captured) {
        if let Some(segment) = captured.packet.tcp()
            && captured.sender == Side::Server
            && segment.payload > 0
        {
            // The SYN has a place of its own.
            let end = segment.end_seq() - 1;
            self.sent.push((captured.client_port, end, segment.payload));
        }
    }
}

/// A download through 4 MiB of send buffer.
fn run(rate: Option<u64>, rtt: Nanos, work: WorkloadSpec) -> Rows {
    rows_of(limited(rate, rtt, work))
}

fn limited(rate: Option<u64>, rtt: Nanos, work: WorkloadSpec) -> SimSpec {
    let mut pipe = PipeConfig::default();
    pipe.propagation.delay_ns = Nanos(rtt.0 / 2);
    let up = pipe.clone();
    if let Some(rate_bit_s) = rate {
        pipe.shaper = ShaperConfig::Fixed { rate_bit_s };
    }
    SimSpec {
        down: pipe,
        up,
        workloads: vec![work],
        sample_interval_ns: Some(Nanos::from_millis(50)),
        ..SimSpec::default()
    }
}

fn rows_of(spec: SimSpec) -> Rows {
    let mut rows = Rows::default();
    Simulation::new(spec)
        .expect("a valid specification")
        .run(&mut rows);
    rows
}

/// By iperf3, over a path without a rate.
fn iperf3(rtt: Nanos, seconds: i64) -> Rows {
    run(None, rtt, iperf3_for(Nanos::from_secs(seconds)))
}

/// After two seconds that do not count.
fn iperf3_for(time: Nanos) -> WorkloadSpec {
    WorkloadSpec::Iperf3 {
        start_ns: Time::ZERO,
        direction: Direction::Down,
        streams: 1,
        size_bytes: None,
        time_ns: Some(time),
        omit_ns: Nanos::from_secs(2),
        congestion_control: None,
        max_pacing_rate_bit_s: None,
    }
}

/// Bytes per second from 4 s to 12 s that a writer brings across who fills the buffer whenever it is woken.
fn fills_the_buffer(rate: Option<u64>, rtt: Nanos) -> f64 {
    let work = WorkloadSpec::Bulk {
        start_ns: Time::ZERO,
        direction: Direction::Down,
        streams: 1,
        size_bytes: None,
        time_ns: Some(Nanos::from_secs(13)),
        omit_ns: Nanos::ZERO,
    };
    let rows = run(rate, rtt, work);
    let acked = |seconds| {
        let at = Time::ZERO + Nanos::from_secs(seconds);
        rows.sockets
            .iter()
            .find(|row| row.host == Seat::Server && row.time >= at)
            .map_or(0, |row| row.sample.bytes_acked)
    };
    (acked(12) - acked(4)) as f64 / 8.0
}

#[test]
fn iperf3_keeps_thirty_blocks_of_a_four_mebibyte_buffer_in_flight() {
    // It writes ten blocks when a third of the buffer is free, and ten blocks take a little less than a third: three turns per
    // round trip, each set off by the ACKs of the same turn one round trip ago.
    for (rtt, seconds) in [(100, 10), (250, 20)] {
        let rows = iperf3(Nanos::from_millis(rtt), seconds);
        let counted: Vec<_> = rows.seconds.iter().filter(|row| !row.omitted).collect();
        let bytes: u64 = counted.iter().map(|row| row.bytes).sum();
        let round_trips = counted.len() as u64 * 1000 / rtt as u64;
        let per_round_trip = bytes as f64 / round_trips as f64;
        let expected = (3 * BLOCKS * BLOCK) as f64;
        assert!(
            (per_round_trip / expected - 1.0).abs() < 0.03,
            "{per_round_trip} bytes in {rtt} ms, not {expected}"
        );
    }
}

#[test]
fn iperf3_writes_the_rest_of_a_block_that_did_not_fit_before_the_next_block() {
    // Where all has left that was written, the last part of a block is a segment by itself.
    let mut spec = limited(
        Some(44_000_000),
        Nanos::from_millis(32),
        iperf3_for(Nanos::from_secs(4)),
    );
    spec.server.tcp.tcp_wmem = [4096, 16384, 31_215];
    spec.capture = vec![Seat::Server];
    let rows = rows_of(spec);
    let (data_port, _, _) = rows.sent[rows.sent.len() / 2];
    let ends: Vec<u64> = rows
        .sent
        .iter()
        .filter(|(port, _, payload)| *port == data_port && *payload < 1448)
        .map(|&(_, end, _)| end)
        .collect();
    assert!(ends.len() > 10, "{}", ends.len());
    for end in ends {
        assert!(end.is_multiple_of(BLOCK), "{end}");
    }
}

#[test]
fn iperf3_leaves_the_buffer_less_than_full() {
    let rows = iperf3(Nanos::from_millis(250), 5);
    let late = rows
        .sockets
        .iter()
        .filter(|row| row.time > Time::ZERO + Nanos::from_secs(4))
        .map(|row| &row.sample);
    let most = late
        .clone()
        .map(|sample| sample.wmem_queued_bytes)
        .max()
        .expect("samples");
    let sndbuf = late
        .map(|sample| sample.sndbuf_bytes)
        .max()
        .expect("samples");
    assert_eq!(sndbuf, 4 << 20);
    assert!((sndbuf * 9 / 10..sndbuf).contains(&most), "{most}");
}

#[test]
fn a_writer_that_fills_the_buffer_keeps_it_full_where_acks_come_at_once() {
    let rtt = Nanos::from_millis(150);
    let per_round_trip = fills_the_buffer(None, rtt) * rtt.as_secs_f64();
    let full = f64::from(4 << 20);
    assert!(
        (0.95..=1.0).contains(&(per_round_trip / full)),
        "{per_round_trip} bytes of {full}"
    );
}

#[test]
fn a_writer_that_fills_the_buffer_goes_beyond_it_where_bursts_are_small() {
    // At 150 Mbit/s and 411 ms a burst is a third of a buffer; cwnd, not memory, ends the writing.
    let rtt = Nanos::from_millis(411);
    let filled = fills_the_buffer(Some(150_000_000), rtt) * rtt.as_secs_f64();
    let full = f64::from(4 << 20);
    assert!(filled / full > 1.05, "{filled} bytes of {full}");
}

#[test]
fn a_writer_that_fills_the_buffer_leaves_gaps_where_acks_come_spread_out() {
    // At 400 Mbit/s slow start ends early or late, and with it bursts are small or not: see the test before.
    // Three bursts of a third each do not fit: what wakes the writer is the next burst's first ACKs, so that a round trip and a
    // third pass until a burst is followed by its successor.
    let rtt = Nanos::from_millis(150);
    let filled = fills_the_buffer(Some(500_000_000), rtt) * rtt.as_secs_f64();
    let full = f64::from(4 << 20);
    assert!(
        (0.6..0.8).contains(&(filled / full)),
        "{filled} bytes of {full}"
    );
}

#[test]
fn a_web_server_fills_cwnd_where_its_send_buffer_is_small() {
    // nginx's sendfile(2) asks for memory once, with nothing unsent; from then on each burst that leaves makes room in the
    // buffer that stays behind, until cwnd is full.
    let most = most_in_flight(Direction::Down);
    assert!(most > 2 * (256 << 10), "{most}");
}

#[test]
fn an_upload_by_curl_adds_a_block_to_two_thirds_of_its_send_buffer() {
    // It writes a block of 64 KiB when a third of the buffer is free, and asks again.
    let most = most_in_flight(Direction::Up);
    assert!(most <= (256 << 10) * 2 / 3 + (64 << 10), "{most}");
}

/// Through a send buffer of 256 KiB and a path whose BDP is four times as much.
fn most_in_flight(direction: Direction) -> u64 {
    let work = WorkloadSpec::Http(HttpSpec {
        name: "fetch".into(),
        start_ns: Time::ZERO,
        direction,
        size_bytes: Some(200_000_000),
        objects_bytes: None,
        popularity: None,
        fetches: 1,
        connections: 1,
        keep_alive: false,
        think_ns: Nanos::ZERO,
    });
    let mut spec = limited(Some(20_000_000), Nanos::from_millis(411), work);
    spec.up = spec.down.clone();
    spec.server.tcp.tcp_wmem[2] = 256 << 10;
    spec.client.tcp.tcp_wmem[2] = 256 << 10;
    spec.duration_ns = Some(Nanos::from_secs(15));
    spec.until_done = false;
    let sender = Seat::from(Side::sending(direction));
    rows_of(spec)
        .sockets
        .iter()
        .filter(|row| row.host == sender)
        .map(|row| row.sample.in_flight_bytes)
        .max()
        .expect("samples")
}

#[test]
fn a_download_of_a_size_ends_at_both_ends_and_leaves_the_path_to_others() {
    for direction in Direction::BOTH {
        let mut pipe = PipeConfig::default();
        pipe.propagation.delay_ns = Nanos::from_millis(50);
        pipe.shaper = ShaperConfig::Fixed {
            rate_bit_s: 10_000_000,
        };
        pipe.queue.limit = QueueLimit::Bytes { bytes: 125_000 };
        let spec = SimSpec {
            down: pipe.clone(),
            up: pipe,
            workloads: vec![WorkloadSpec::Iperf3 {
                start_ns: Time::ZERO,
                direction,
                streams: 2,
                size_bytes: Some(1_000_000),
                time_ns: None,
                omit_ns: Nanos::ZERO,
                congestion_control: None,
                max_pacing_rate_bit_s: None,
            }],
            duration_ns: Some(Nanos::from_secs(20)),
            until_done: false,
            sample_interval_ns: Some(Nanos::from_millis(500)),
            ..SimSpec::default()
        };
        let mut rows = Rows::default();
        let summary = Simulation::new(spec)
            .expect("a valid specification")
            .run(&mut rows);
        let carried = summary.totals[direction as usize].delivered.bytes;
        assert!(
            carried < 2_500_000,
            "{carried} bytes for a transfer of 1 MB"
        );
        let late = |row: &&SocketRow| row.time > Time::ZERO + Nanos::from_secs(5);
        assert_eq!(rows.sockets.iter().filter(late).count(), 0);
    }
}
