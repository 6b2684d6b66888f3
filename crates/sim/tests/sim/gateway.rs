//! bentpipe's gateways on a path: the share of the ceiling that a download reaches, what they leave of other traffic, and how they fail.

use bentpipe_base::{Nanos, Time};
use bentpipe_gateway::Rate;
use bentpipe_path::config::{
    HandoverConfig, JitterConfig, JitterDistribution, LossConfig, Outage, PipeConfig, QueueLimit,
    ShaperConfig,
};
use bentpipe_sim::gateway::{GatewayConfig, GatewayRedundancy};
use bentpipe_sim::node::config::HostConfig;
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::Side;
use bentpipe_sim::spec::SimSpec;

const RATE: u64 = 16_000_000;

/// A GEO satellite link: 16 Mbit/s, 550 ms, and this share lost in each direction.
fn geo(loss: f64, redundancy: GatewayRedundancy) -> SimSpec {
    let pipe = || PipeConfig {
        shaper: ShaperConfig::Fixed { rate_bit_s: RATE },
        queue: bentpipe_path::config::QueueConfig {
            limit: QueueLimit::Bytes { bytes: 200_000 },
            ..Default::default()
        },
        propagation: bentpipe_path::config::PropagationConfig {
            delay_ns: Nanos::from_millis(275),
            ..Default::default()
        },
        channel: bentpipe_path::config::ChannelConfig {
            loss: LossConfig::Bernoulli { p: loss },
            ..Default::default()
        },
        ..PipeConfig::default()
    };
    SimSpec {
        seed: 11,
        down: pipe(),
        up: pipe(),
        gateway: Some(GatewayConfig {
            near: HostConfig::default(),
            far: HostConfig::default(),
            down_rate: Rate::Fixed(RATE),
            up_rate: Rate::Fixed(RATE),
            redundancy,
        }),
        ..SimSpec::default()
    }
}

/// A download that has begun, and when its first byte came.
fn begun(spec: &SimSpec) -> (Pair, Time) {
    let mut pair = Pair::new(spec, Vec::new()).expect("a sound specification");
    let connection = pair.connect();
    let mut now = Time::ZERO;
    while pair.socket(connection, Side::Server).is_none() {
        now += Nanos::from_millis(1);
        pair.run_until(now);
    }
    pair.write(connection, Side::Server, 400_000_000);
    while pair.received(Side::Client) == 0 {
        now += Nanos::from_millis(1);
        pair.run_until(now);
        assert!(now < Time(5_000_000_000), "no byte came");
    }
    (pair, now)
}

/// Goodput of a download in bit/s, from 3 s after its first byte on, for a minute.
fn download(spec: &SimSpec) -> f64 {
    let (mut pair, now) = begun(spec);
    pair.run_until(now + Nanos::from_secs(3));
    let before = pair.received(Side::Client);
    pair.run_until(now + Nanos::from_secs(63));
    (pair.received(Side::Client) - before) as f64 * 8.0 / 60.0
}

#[test]
fn a_download_reaches_97_percent_of_the_ceiling_at_any_loss() {
    // Of 1500 bytes: IP and UDP 28, the carrier 31, the plane 1, a packet's number 4, and room for a repair's longer header 6.
    let payload = f64::from(1500 - 28 - 31 - 1 - 10) / 1500.0;
    for loss in [0.0, 0.001, 0.01, 0.05] {
        let goodput = download(&geo(loss, GatewayRedundancy::Adaptive));
        let share = goodput / (RATE as f64 * (1.0 - loss) * payload);
        assert!(share >= 0.97, "loss {loss}: {share}");
        // What waits for an earlier packet when the minute begins is read in it.
        assert!(share <= 1.02, "loss {loss}: {share}");
    }
}

#[test]
fn after_an_outage_of_20_s_the_full_rate_is_back_within_two_round_trips() {
    for loss in [0.0, 0.01] {
        let mut spec = geo(loss, GatewayRedundancy::Adaptive);
        let outage = Outage {
            start_ns: Time(10_000_000_000),
            length_ns: Nanos::from_secs(20),
        };
        spec.down.channel.outages.push(outage);
        spec.up.channel.outages.push(outage);
        let (mut pair, _) = begun(&spec);
        // Two round trips are 1.1 s. Another second is the measure.
        pair.run_until(Time(31_100_000_000));
        let sent = |pair: &Pair| {
            let [_, far] = pair.gateway().expect("gateways");
            far.packets + far.exact_repairs
        };
        let before = sent(&pair);
        pair.run_until(Time(32_100_000_000));
        let full = RATE as f64 / 8.0 / 1500.0;
        let share = (sent(&pair) - before) as f64 / full;
        assert!(share >= 0.97, "loss {loss}: {share} of the rate");
        // What was lost in the outage is there, and nothing was sent twice without need.
        pair.run_until(Time(40_000_000_000));
        let [near, _] = pair.gateway().expect("gateways");
        assert!(near.useless_exact < near.came_when_asked / 10, "{near:?}");
        let received = pair.received(Side::Client) as f64 * 8.0;
        let most = 19.0 * RATE as f64;
        assert!(
            received > 0.9 * most,
            "loss {loss}: {received} bits of {most}"
        );
    }
}

#[test]
fn over_a_constellation_with_handovers_and_jitter_a_download_keeps_90_percent() {
    let mut spec = geo(0.002, GatewayRedundancy::Adaptive);
    for pipe in [&mut spec.down, &mut spec.up] {
        pipe.propagation.delay_ns = Nanos::from_millis(45);
        pipe.propagation.jitter = Some(JitterConfig {
            spread_ns: Nanos::from_millis(15),
            distribution: JitterDistribution::Uniform,
            correlation: 0.0,
            reorder: true,
        });
        pipe.propagation.handover = Some(HandoverConfig {
            every_ns: Nanos::from_secs(15),
            step_ns: Nanos::from_millis(15),
            outage_ns: Nanos::from_millis(60),
        });
    }
    let share = download(&spec) / (RATE as f64 * 0.998 * (1450.0 / 1500.0));
    assert!(share >= 0.9, "{share}");
}
