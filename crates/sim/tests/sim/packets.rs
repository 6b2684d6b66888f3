//! The packets that a column run keeps are those that a capture at the same host shows.

use bentpipe_path::config::{LossConfig, PipeConfig, ShaperConfig};
use bentpipe_path::time::{Nanos, Time};
use bentpipe_sim::record::{ColumnRun, PacketQuestion, Question, Request};
use bentpipe_sim::rows::{Captured, Role, SocketRow};
use bentpipe_sim::seat::Seat;
use bentpipe_sim::simulation::{Simulation, Stretch};
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::WorkloadSpec;
use bentpipe_tables::pcapng::InterfaceDirection;
use std::collections::BTreeMap;

/// Segments are lost, and SACKs come back.
fn spec() -> SimSpec {
    let mut pipe = PipeConfig::default();
    pipe.propagation.delay_ns = Nanos::from_millis(5);
    let up = pipe.clone();
    pipe.shaper = ShaperConfig::Fixed {
        rate_bit_s: 10_000_000,
    };
    // Enough for some losses to be repaired after the first second.
    pipe.channel.loss = LossConfig::Bernoulli { p: 0.02 };
    SimSpec {
        down: pipe,
        up,
        workloads: vec![WorkloadSpec::Iperf3 {
            start_ns: Time::ZERO,
            direction: bentpipe_base::Direction::Down,
            streams: 2,
            size_bytes: None,
            time_ns: Some(Nanos::from_millis(2000)),
            omit_ns: Nanos::ZERO,
            congestion_control: None,
            max_pacing_rate_bit_s: None,
        }],
        duration_ns: Some(Nanos::from_millis(2000)),
        sample_interval_ns: Some(Nanos::from_millis(100)),
        ..SimSpec::default()
    }
}

#[derive(Default)]
struct Seen {
    captured: Vec<Captured>,
    ports: Option<(u16, u16)>,
}

impl Sink for Seen {
    fn packet(&mut self, captured: &Captured) {
        self.captured.push(captured.clone());
    }
    fn socket(&mut self, row: &SocketRow) {
        if row.host == Seat::Server && row.role == Role::Data {
            self.ports.get_or_insert((row.remote_port, row.local_port));
        }
    }
}

fn seen() -> (Vec<Captured>, (u16, u16)) {
    let mut seen = Seen::default();
    let spec = SimSpec {
        capture: vec![Seat::Server],
        ..spec()
    };
    Simulation::new(spec).expect("it is valid").run(&mut seen);
    (seen.captured, seen.ports.expect("a data connection"))
}

fn packets((client_port, server_port): (u16, u16), ms: [i64; 2], most: u16) -> Columns {
    let question = PacketQuestion {
        at: Seat::Server,
        client_port,
        server_port,
        from_ns: Nanos::from_millis(ms[0]),
        to_ns: Nanos::from_millis(ms[1]),
        most,
    };
    columns(Some(question))
}

type Columns = BTreeMap<&'static str, Vec<f64>>;

fn columns(packets: Option<PacketQuestion>) -> Columns {
    let request = Request {
        spec: spec(),
        names: vec!["download".to_owned()],
        question: Question::default(),
        columns: None,
        packets,
    };
    let mut run = ColumnRun::new(request).expect("it is valid");
    while run.advance() == Stretch::More {}
    let (_, tables, texts) = run.finish();
    // Texts come as numbers: `down` and `up` as 1 and 0.
    let number = |cells: &[f64]| {
        let is_down = |it: &f64| f64::from(u8::from(texts[*it as usize] == "down"));
        cells.iter().map(is_down).collect::<Vec<_>>()
    };
    let table = tables
        .into_iter()
        .find(|it| it.table.name == "packets")
        .expect("a table");
    let name = |place: usize| table.table.columns[place].name;
    let found = table.columns.iter();
    found
        .map(|(at, cells)| match name(*at) {
            "direction" => ("direction", number(cells)),
            other => (other, cells.clone()),
        })
        .collect()
}

#[test]
fn every_packet_of_the_connection_and_the_time_is_kept_and_no_other() {
    let (captured, ports) = seen();
    let found = packets(ports, [500, 1500], u16::MAX);
    let expected: Vec<_> = captured
        .iter()
        .filter(|it| (it.client_port, it.server_port) == ports)
        .filter(|it| (500..1500).contains(&(it.time.0 / 1_000_000)))
        .map(|it| {
            let segment = it.packet.tcp().expect("TCP");
            let mut edges = [f64::NAN; 8];
            let blocks = segment.sack.iter(segment.ack);
            for (place, (start, end)) in blocks.enumerate() {
                edges[2 * place] = start as f64;
                edges[2 * place + 1] = end as f64;
            }
            let is_down = it.direction == InterfaceDirection::Out;
            let head = [
                it.time.as_secs_f64(),
                f64::from(u8::from(is_down)),
                segment.seq as f64,
                f64::from(segment.payload),
                segment.ack as f64,
            ];
            (head, edges)
        })
        .collect();
    assert!(expected.len() > 300, "{}", expected.len());
    assert!(expected.iter().any(|(_, edges)| !edges[0].is_nan()));
    let names = ["time_s", "direction", "seq", "length_bytes", "ack"];
    let blocks = [
        "sack_1_start",
        "sack_1_end",
        "sack_2_start",
        "sack_2_end",
        "sack_3_start",
        "sack_3_end",
        "sack_4_start",
        "sack_4_end",
    ];
    assert_eq!(found["time_s"].len(), expected.len());
    for (row, (head, edges)) in expected.iter().enumerate() {
        let bits = |cells: &[f64]| cells.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&names.map(|it| found[it][row])), bits(head), "{row}");
        assert_eq!(bits(&blocks.map(|it| found[it][row])), bits(edges), "{row}");
    }
}

#[test]
fn a_segment_is_a_retransmission_if_the_sender_sent_its_bytes_before_the_time_too() {
    let (_, ports) = seen();
    let again = |found: &Columns, from_s: f64| -> Vec<(u64, u64)> {
        (0..found["time_s"].len())
            .filter(|&row| found["retransmission"][row] > 0.5 && found["time_s"][row] >= from_s)
            .map(|row| (found["time_s"][row].to_bits(), found["seq"][row].to_bits()))
            .collect()
    };
    let whole = packets(ports, [0, 2000], u16::MAX);
    let mut behind = BTreeMap::new();
    for (row, direction) in whole["direction"].iter().enumerate() {
        let end = behind.entry(direction.to_bits()).or_insert(0.0);
        let (seq, length) = (whole["seq"][row], whole["length_bytes"][row]);
        let expected = length > 0.0 && seq < *end;
        assert_eq!(whole["retransmission"][row] > 0.5, expected, "{row}");
        *end = f64::max(*end, seq + length);
    }
    let all = again(&whole, 1.0);
    assert!(all.len() > 3, "{}", all.len());
    assert_eq!(again(&packets(ports, [1000, 2000], u16::MAX), 1.0), all);
}

#[test]
fn windows_are_scaled_behind_the_handshake() {
    let (_, ports) = seen();
    let found = packets(ports, [0, 2000], u16::MAX);
    assert_eq!(found["seq"][0].to_bits(), 0.0_f64.to_bits());
    assert!(found["window_bytes"][0] <= 65_535.0);
    let received = |row: &usize| found["direction"][*row] < 0.5;
    let largest = (0..found["time_s"].len())
        .filter(received)
        .map(|row| found["window_bytes"][row])
        .fold(0.0, f64::max);
    assert!(largest > 65_535.0, "{largest}");
}

#[test]
fn no_more_packets_are_kept_than_are_asked_for_and_none_without_a_question() {
    let (_, ports) = seen();
    let all = packets(ports, [500, 1500], u16::MAX);
    let first = packets(ports, [500, 1500], 100);
    assert_eq!(first["time_s"], all["time_s"][..100]);
    assert!(packets((1, 2), [0, 2000], 100)["time_s"].is_empty());
    assert!(columns(None).is_empty());
}
