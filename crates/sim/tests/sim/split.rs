//! TCP ended at near and at far: three connections for each, and closed forms for what that changes.

use bentpipe_base::{Direction, Nanos, Time};
use bentpipe_path::config::{LossConfig, PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_sim::near::NearConfig;
use bentpipe_sim::node::config::HostConfig;
use bentpipe_sim::pair::Pair;
use bentpipe_sim::rows::{FlowOutcome, FlowRow, PingRow, SocketRow};
use bentpipe_sim::seat::{Seat, Side};
use bentpipe_sim::simulation::{Simulation, Summary};
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::split::{SplitConfig, SplitFigures};
use bentpipe_sim::tunnel::{Redundancy, TunnelConfig};
use bentpipe_sim::workload::{ChannelsSpec, HttpSpec, WorkloadSpec};
use bentpipe_workloads::Distribution;

#[derive(Default)]
struct Seen {
    flows: Vec<FlowRow>,
    pings: Vec<PingRow>,
    sockets: Vec<SocketRow>,
}

impl Sink for Seen {
    fn flow(&mut self, row: &FlowRow) {
        self.flows.push(row.clone());
    }
    fn ping(&mut self, row: &PingRow) {
        self.pings.push(*row);
    }
    fn socket(&mut self, row: &SocketRow) {
        self.sockets.push(row.clone());
    }
}

fn run(spec: SimSpec) -> (Seen, Summary) {
    let mut seen = Seen::default();
    let simulation = Simulation::new(spec).expect("a sound specification");
    let summary = simulation.run(&mut seen);
    (seen, summary)
}

fn figures(summary: &Summary) -> [SplitFigures; 2] {
    summary.split.expect("a split")
}

fn pipe(delay_ms: i64, rate_bit_s: u64) -> PipeConfig {
    let mut pipe = PipeConfig::default();
    if rate_bit_s > 0 {
        pipe.shaper = ShaperConfig::Fixed { rate_bit_s };
        pipe.queue.limit = QueueLimit::Bytes { bytes: 1_000_000 };
    }
    pipe.propagation.delay_ns = Nanos::from_millis(delay_ms);
    pipe
}

pub(crate) fn bulk(direction: Direction, size_bytes: Option<u64>) -> WorkloadSpec {
    WorkloadSpec::Bulk {
        start_ns: Time::ZERO,
        direction,
        streams: 1,
        size_bytes,
        time_ns: None,
        omit_ns: Nanos::ZERO,
    }
}

/// Over a round trip of 500 ms.
pub(crate) fn geo(work: WorkloadSpec, rate_bit_s: u64, path_control: Option<&str>) -> SimSpec {
    let mut spec = SimSpec {
        down: pipe(250, rate_bit_s),
        up: pipe(250, rate_bit_s),
        workloads: vec![work],
        ..SimSpec::default()
    };
    for host in [&mut spec.client, &mut spec.server] {
        host.tcp.congestion_control = "cubic".into();
    }
    spec.split = path_control.map(|control| {
        let mut path = HostConfig::default();
        path.tcp.congestion_control = control.into();
        path.tcp.tcp_wmem[2] = 33_554_432;
        SplitConfig {
            near: spec.client.clone(),
            far: spec.server.clone(),
            path,
        }
    });
    spec
}

fn path(spec: &mut SimSpec) -> &mut bentpipe_tcp::Config {
    &mut spec.split.as_mut().expect("it is split").path.tcp
}

/// Of a transfer of 60 s.
fn goodput_bit_s(mut spec: SimSpec) -> f64 {
    spec.duration_ns = Some(Nanos::from_secs(60));
    let (seen, _) = run(spec);
    seen.flows[0].bytes as f64 * 8.0 / 60.0
}

#[test]
fn a_short_flow_takes_the_path_s_round_trips_and_none_for_the_other_legs() {
    // Near and far each accept before they connect onward. The path's handshake, then 10, 20 and 40 segments.
    for (segments, initcwnd, round_trips) in [
        (10, 10, 2.0),
        (11, 10, 3.0),
        (30, 10, 3.0),
        (31, 10, 4.0),
        (40, 40, 2.0),
        (41, 40, 3.0),
    ] {
        let mut spec = geo(
            bulk(Direction::Down, Some(segments * 1448)),
            0,
            Some("reno"),
        );
        path(&mut spec).initcwnd = initcwnd;
        let (seen, _) = run(spec);
        let end_s = seen.flows[0].end.expect("finished").as_secs_f64();
        let expected_s = round_trips * 0.5;
        // The last segment's ACK may be delayed by 40 ms, and each machine takes its time to wake.
        assert!(
            (0.0..0.045).contains(&(end_s - expected_s)),
            "{segments} segments: {end_s} s, not {expected_s}"
        );
    }
}

#[test]
fn the_client_is_connected_to_near_at_once_and_to_the_server_a_round_trip_and_a_half_later() {
    let mut pair = Pair::new(
        &geo(bulk(Direction::Down, None), 0, Some("cubic")),
        Vec::new(),
    )
    .expect("a sound specification");
    let connection = pair.connect();
    pair.run_until(Time::ZERO + Nanos::from_millis(1));
    let client = pair.socket(connection, Side::Client).expect("open");
    assert_eq!(client.state(), bentpipe_tcp::State::Established);
    pair.run_until(Time::ZERO + Nanos::from_millis(749));
    assert!(pair.socket(connection, Side::Server).is_none());
    pair.run_until(Time::ZERO + Nanos::from_millis(751));
    assert!(pair.socket(connection, Side::Server).is_some());
}

#[test]
fn a_client_with_a_small_window_gets_the_path_s_rate_where_tcp_is_split() {
    let goodput = |control| {
        let mut spec = geo(bulk(Direction::Down, None), 16_000_000, control);
        spec.client.tcp.rcvbuf = Some(131_072);
        goodput_bit_s(spec)
    };
    let window_bit_s = 131_072.0 * 160.0 / 256.0 * 8.0 / 0.5;
    let rate_bit_s = 16e6 * 1448.0 / 1500.0;
    let (plain, split) = (
        goodput(None) / window_bit_s,
        goodput(Some("cubic")) / rate_bit_s,
    );
    assert!(
        (0.9..1.01).contains(&plain),
        "{plain} of a window per round trip"
    );
    assert!((0.85..1.0).contains(&split), "{split} of the path's rate");
}

#[test]
fn at_1_percent_loss_bbr_on_the_path_carries_ten_times_what_cubic_does_end_to_end() {
    for direction in Direction::BOTH {
        let goodput = |control| {
            let mut spec = geo(bulk(direction, None), 16_000_000, control);
            for pipe in [&mut spec.down, &mut spec.up] {
                pipe.channel.loss = LossConfig::Bernoulli { p: 0.01 };
            }
            goodput_bit_s(spec)
        };
        let (plain, cubic, bbr) = (goodput(None), goodput(Some("cubic")), goodput(Some("bbr")));
        println!("{direction}: plain {plain}, CUBIC on the path {cubic}, BBR on the path {bbr}");
        assert!(bbr > 10.0 * plain, "{bbr} against {plain}");
        // The same congestion control over the same loss: nothing is won.
        assert!(
            (0.5..2.0).contains(&(cubic / plain)),
            "{cubic} against {plain}"
        );
        assert!(bbr < 16e6 * 0.99 * 1448.0 / 1500.0, "no more than arrives");
    }
}

#[test]
fn a_slow_receiver_holds_the_sender_back_through_both_proxies() {
    let mut spec = geo(bulk(Direction::Down, None), 16_000_000, Some("cubic"));
    spec.client.tcp.read_rate_bit_s = Some(1_000_000);
    let buffers = [262_144; 3];
    let split = spec.split.as_mut().expect("it is split");
    for host in [&mut split.near, &mut split.far, &mut split.path] {
        host.tcp.tcp_rmem = buffers;
        host.tcp.tcp_wmem = buffers;
    }
    spec.duration_ns = Some(Nanos::from_secs(60));
    let (seen, summary) = run(spec);
    let rate = seen.flows[0].bytes as f64 * 8.0 / 60.0;
    assert!((0.9e6..1.01e6).contains(&rate), "{rate} bit/s");
    for (each, most) in figures(&summary).into_iter().zip([2, 2]) {
        let bound = most * 262_144 + 3 * 65_536;
        assert!(
            (100_000..bound).contains(&each.buffered_bytes_max),
            "{each:?}, at most {bound}"
        );
    }
}

#[test]
fn the_sockets_of_the_proxies_are_sampled_with_the_hosts_ports_and_their_own_settings() {
    let mut spec = geo(
        bulk(Direction::Down, Some(3_000_000)),
        16_000_000,
        Some("bbr"),
    );
    spec.sample_interval_ns = Some(Nanos::from_millis(100));
    let (seen, _) = run(spec);
    let ports = (seen.flows[0].local_port, seen.flows[0].remote_port);
    let known = |host, side, control, (local, remote): (u16, u16)| {
        let mut rows = seen
            .sockets
            .iter()
            .filter(|row| row.host == host && row.side == side);
        let row = rows.next().expect("sampled");
        assert_eq!(row.sample.congestion_control, control, "{host:?} {side:?}");
        assert_eq!((row.local_port, row.remote_port), (local, remote));
    };
    let back = (ports.1, ports.0);
    known(Seat::Client, Side::Client, "cubic", ports);
    known(Seat::Near, Side::Server, "cubic", back);
    known(Seat::Near, Side::Client, "bbr", ports);
    known(Seat::Far, Side::Server, "bbr", back);
    known(Seat::Far, Side::Client, "cubic", ports);
    known(Seat::Server, Side::Server, "cubic", back);
}

#[test]
fn what_the_proxies_passed_on_is_what_the_receiver_got_and_pings_pass_untouched() {
    let mut spec = geo(
        bulk(Direction::Down, Some(1_000_000)),
        16_000_000,
        Some("bbr"),
    );
    spec.down.channel.loss = LossConfig::Bernoulli { p: 0.02 };
    spec.workloads.push(WorkloadSpec::Ping {
        start_ns: Time(-2_000_000_000),
        count: 3,
        interval_ns: Nanos::from_millis(200),
        payload_bytes: 56,
    });
    let (seen, summary) = run(spec);
    assert_eq!(seen.flows[0].bytes, 1_000_000);
    let [near, far] = figures(&summary);
    for each in [near, far] {
        assert_eq!(
            (each.connections, each.down_bytes, each.up_bytes),
            (1, 1_000_000, 0)
        );
        assert_eq!((each.resets, each.connect_failures), (0, 0));
    }
    assert!(far.retransmits > 0);
    assert_eq!(near.retransmits, 0);
    assert_eq!(seen.flows[0].retransmits, far.retransmits);
    for ping in seen.pings.iter().filter_map(|ping| ping.rtt) {
        assert!((ping.as_secs_f64() - 0.5).abs() < 0.001);
    }
}

#[test]
fn every_kind_of_work_goes_through_the_proxies() {
    let http = HttpSpec {
        name: "page".to_owned(),
        start_ns: Time::ZERO,
        direction: Direction::Down,
        size_bytes: None,
        objects_bytes: Some(vec![40_000; 20]),
        popularity: None,
        fetches: 2,
        connections: 6,
        keep_alive: false,
        think_ns: Nanos::from_millis(10),
    };
    let ranges = HttpSpec {
        objects_bytes: None,
        size_bytes: Some(5_000_000),
        ..http.clone()
    };
    let iperf3 = |direction, size_bytes| WorkloadSpec::Iperf3 {
        start_ns: Time::ZERO,
        direction,
        streams: 2,
        size_bytes,
        time_ns: size_bytes.is_none().then_some(Nanos::from_secs(5)),
        omit_ns: Nanos::ZERO,
        congestion_control: None,
        max_pacing_rate_bit_s: None,
    };
    let works = [
        WorkloadSpec::Http(http),
        WorkloadSpec::Http(ranges),
        iperf3(Direction::Down, None),
        iperf3(Direction::Up, None),
        iperf3(Direction::Down, Some(2_000_000)),
        iperf3(Direction::Up, Some(2_000_000)),
    ];
    for work in works {
        let mut spec = geo(work.clone(), 16_000_000, Some("cubic"));
        spec.down.channel.loss = LossConfig::Bernoulli { p: 0.01 };
        spec.duration_ns = Some(Nanos::from_secs(200));
        let (seen, summary) = run(spec);
        assert!(!seen.flows.is_empty());
        for flow in &seen.flows {
            assert_eq!(flow.outcome, FlowOutcome::Finished, "{work:?}");
            assert!(flow.bytes > 0);
        }
        let [near, far] = figures(&summary);
        assert!(near.connections > 0 && near.connect_failures == 0);
        assert_eq!(near.connections, far.connections, "{work:?}");
    }
}

#[test]
fn channels_to_servers_beyond_the_far_end_go_through_the_proxies_and_a_tunnel_beneath_them() {
    let channels = WorkloadSpec::Channels(ChannelsSpec {
        name: "clients".to_owned(),
        start_ns: Time::ZERO,
        channels: 10,
        servers: 5,
        size: Distribution::Constant { value: 50_000 },
        terrestrial_delay: Distribution::Constant { value: 30_000_000 },
        terrestrial_jitter_ns: Nanos::ZERO,
        think_ns: Nanos::ZERO,
    });
    let tunnel = TunnelConfig {
        redundancy: Redundancy::Fixed { ratio: 0.2 },
        window_packets: 256,
        hold_ns: Nanos::from_millis(100),
        exact: None,
    };
    for tunnel in [None, Some(tunnel)] {
        for is_split in [false, true] {
            let control = is_split.then_some("cubic");
            let mut spec = geo(channels.clone(), 16_000_000, control);
            spec.duration_ns = Some(Nanos::from_secs(30));
            spec.tunnel.clone_from(&tunnel);
            spec.down.channel.loss = LossConfig::Bernoulli { p: 0.02 };
            let (seen, summary) = run(spec);
            let finished = seen
                .flows
                .iter()
                .filter(|flow| flow.outcome == FlowOutcome::Finished);
            assert!(finished.count() > 40, "{} flows", seen.flows.len());
            assert!(
                seen.flows
                    .iter()
                    .all(|flow| flow.outcome != FlowOutcome::Failed)
            );
            assert_eq!(summary.tunnel.is_some(), tunnel.is_some());
            assert_eq!(summary.split.is_some(), is_split);
            if let (Some([down, _]), Some([_, far])) = (summary.tunnel, summary.split) {
                assert!(down.recovered > 0 && down.residual_loss.expect("packets") < 0.002);
                assert!(far.connections > 40 && far.down_bytes > 2_000_000);
            }
        }
    }
}

#[test]
fn a_lan_between_client_and_near_limits_what_the_proxy_passes_on() {
    let mut spec = geo(
        bulk(Direction::Down, Some(2_000_000)),
        16_000_000,
        Some("bbr"),
    );
    spec.near = Some(NearConfig {
        host: spec.client.clone(),
        down: pipe(5, 4_000_000),
        up: pipe(5, 4_000_000),
        cache_bytes: None,
    });
    let (seen, summary) = run(spec);
    let flow = &seen.flows[0];
    let rate = 2_000_000.0 * 8.0 / (flow.end.expect("finished") - flow.start).as_secs_f64();
    assert!((2e6..4e6).contains(&rate), "{rate} bit/s");
    let [near, _] = figures(&summary);
    assert!(
        near.buffered_bytes_max > 500_000,
        "what the path brings faster waits: {near:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let lossy = |seed| {
        let mut spec = geo(
            bulk(Direction::Down, Some(2_000_000)),
            16_000_000,
            Some("bbr"),
        );
        spec.down.channel.loss = LossConfig::Bernoulli { p: 0.02 };
        spec.seed = seed;
        run(spec).0.flows[0].end
    };
    assert_eq!(lossy(1), lossy(1));
    assert_ne!(lossy(1), lossy(2));
}
