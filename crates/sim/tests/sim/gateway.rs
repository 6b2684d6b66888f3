//! bentpipe's gateways on a path: the share of the ceiling that a download reaches, what they leave of other traffic, and how they fail.

use bentpipe_base::{Nanos, Time};
use bentpipe_path::config::{LossConfig, PipeConfig, QueueLimit, ShaperConfig};
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
            down_bit_s: RATE,
            up_bit_s: RATE,
            redundancy,
        }),
        ..SimSpec::default()
    }
}

/// Goodput of a download in bit/s, from 3 s after its first byte on, for a minute.
fn download(spec: &SimSpec) -> f64 {
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
