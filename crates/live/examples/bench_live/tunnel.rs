//! What one core carries coded. One thread codes and decodes a direction, and writes to the receiving host's device, in which
//! the kernel's receive path runs.

use crate::bed::Bed;
use crate::{Error, SECONDS, finish, iperf, pipe, start_pipe};
use bentpipe_live::datapath::TunnelSetup;
use bentpipe_path::config::{ChannelConfig, LossConfig, PipeConfig};
use bentpipe_path::time::Nanos;

/// Repairs per packet, and loss; no repairs: not coded.
const CASES: [(Option<f64>, f64); 4] = [
    (None, 0.0),
    (Some(0.0), 0.0),
    (Some(0.05), 0.0),
    (Some(0.05), 0.01),
];
/// An ordinary host's window: the tunnel takes 38 bytes.
const INNER_MTU: u32 = 1462;

fn setup(ratio: f64) -> Result<TunnelSetup, Error> {
    let setup = serde_json::json!({
        "config": {
            "redundancy": {"policy": "fixed", "ratio": ratio},
            "window_packets": 256,
            "hold_ns": 5_000_000,
        },
        "ip": 4,
    });
    Ok(serde_json::from_value(setup)?)
}

pub fn throughput() -> Result<(), Error> {
    println!(
        "coded, 20 ms of RTT, iperf3 {SECONDS} s   goodput Gbit/s   per core Gbit/s   recovered   lost for good   lost outside the model"
    );
    for (ratio, loss) in CASES {
        let bed = Bed::new()?;
        let mut name = "not coded".to_owned();
        let mut tunnel = None;
        if let Some(ratio) = ratio {
            name = format!("{ratio} repairs per packet, loss {} %", loss * 100.0);
            tunnel = Some(setup(ratio)?);
            for host in [&bed.client, &bed.server] {
                host.output(&format!("ip link set path mtu {INNER_MTU}"))?;
            }
        }
        let lossy = PipeConfig {
            channel: ChannelConfig {
                loss: LossConfig::Bernoulli { p: loss },
                ..ChannelConfig::default()
            },
            ..pipe(Nanos::from_millis(10), None)
        };
        let path = start_pipe(&bed, lossy, tunnel)?;
        let iperf = iperf(&bed)?;
        let report = finish(path)?;
        let bits = iperf.received_bit_s * f64::from(SECONDS);
        let figures = report.up.tunnel.as_ref();
        let count = |of: Option<u64>| of.map_or("-".to_owned(), |count| count.to_string());
        println!(
            "{name:<36} {:>13.2} {:>17.2} {:>11} {:>15} {:>24}",
            iperf.received_bit_s / 1e9,
            bits / report.up.cpu_ns as f64,
            count(figures.map(|it| it.recovered)),
            count(figures.map(|it| it.lost)),
            report.engine_error().all.unintended_loss + iperf.dropped,
        );
    }
    println!();
    Ok(())
}
