//! The path to far, measured from near.

use super::{Measured, Path, Report, Verdict, Wanted};
use crate::config::{Loaded, Rate};
use crate::setup::{carrier, header_bytes, resolve};
use crate::{sockets, status};
use bentpipe_carrier::Why;
use bentpipe_gateway::null;
use bentpipe_gateway_host::probe::{PathFigures, Probe, ProbeError};
use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Clocks that differ by more make logs hard to compare.
const CLOCK_DIFFERS_S: f64 = 60.0;
/// A direction is measured for so long, with so many bytes at most.
const MEASURE_S: f64 = 2.0;
const MOST_BYTES: f64 = 20e6;
/// What is sent where the configuration names no rate.
const UNKNOWN_RATE: u64 = 2_000_000;
/// Questions, the search for the longest packet and the handshake take less.
const BESIDE_BYTES: u64 = 60_000;
/// The UDP payload of a full packet in Ethernet.
const ETHERNET_V4: u16 = 1472;
const ETHERNET_V6: u16 = 1452;
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// A far that need not answer is only warned of.
pub(super) fn path(
    loaded: &Loaded,
    required: bool,
    wanted: Wanted,
    report: &mut Report,
    say: &mut impl FnMut(&str),
) {
    let absent = if required {
        Verdict::Wrong
    } else {
        Verdict::Warning
    };
    let file = &loaded.file;
    if let Some(Ok(running)) = file.status.socket.as_deref().map(status::ask) {
        let verdict = if running.connected {
            Verdict::Right
        } else {
            absent
        };
        let over = running.carrier.as_deref().unwrap_or("nothing");
        let round_trip = running
            .round_trip_ms
            .map_or("unknown".into(), |ms| format!("{ms:.0} ms"));
        let loss = running.loss;
        let loss = loss.map_or("unknown".into(), |it| format!("{:.2} %", 100.0 * it));
        report.add(
            "path",
            verdict,
            format!(
                "this gateway runs: connected over {over}, round trip {round_trip}, loss {loss}. Its path is not measured beside it; stop it for that"
            ),
        );
        return;
    }
    let name = file.peer.address.as_deref().unwrap_or_default();
    let far = match resolve(name) {
        Ok(far) => far,
        Err(error) => return report.add("far", absent, error),
    };
    let probe = match probe(loaded, far) {
        Ok(probe) => probe,
        Err(error) => return report.add("UDP", Verdict::Wrong, error),
    };
    let known = match file.path.rate {
        Rate::Fixed(bit_s) | Rate::Capped(bit_s) => Some(bit_s),
        Rate::Fair => None,
    };
    let rate = wanted.rate_bit_s.unwrap_or(UNKNOWN_RATE);
    let rate = known.map_or(rate, |known| known.min(wanted.rate_bit_s.unwrap_or(known)));
    let each = (rate as f64 / 8.0 * MEASURE_S).min(MOST_BYTES);
    let (packets, bytes) = probe.packets(each as u64);
    say(&format!(
        "if far answers, this sends up to {:.2} MB to it and gets as much, at {:.2} Mbit/s at most each way, and about {} kB beside that",
        bytes as f64 / 1e6,
        rate as f64 / 1e6,
        BESIDE_BYTES / 1000
    ));
    match probe.run(packets, rate) {
        Ok(found) => figures(loaded, &found, report),
        Err(ProbeError::NoAnswer) => {
            let tcp = TcpStream::connect_timeout(&far, CONNECT_WITHIN).is_ok();
            let detail = if tcp {
                "no answer over UDP, but far's TCP port is open: something on the way blocks UDP. The session will go over TLS, which is slower where packets are lost"
            } else {
                "no answer, neither over UDP nor over TCP: far does not run, its firewall is closed, or peer.address is wrong"
            };
            report.add("far", absent, format!("{far}: {detail}"));
        }
        Err(ProbeError::Ended(why)) => {
            let detail = match why {
                Why::KeyNotAllowed => "far answers and refuses this gateway's key: peer.key at far has to be the public key above".to_owned(),
                why => why.to_string(),
            };
            report.add("far", Verdict::Wrong, format!("{far}: {detail}"));
        }
        Err(ProbeError::Io(error)) => report.add("far", Verdict::Wrong, format!("{far}: {error}")),
    }
}

fn probe(loaded: &Loaded, far: SocketAddr) -> Result<Probe, String> {
    let (any, ethernet) = match far.ip().to_canonical() {
        IpAddr::V4(_) => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), ETHERNET_V4),
        IpAddr::V6(_) => (IpAddr::V6(Ipv6Addr::UNSPECIFIED), ETHERNET_V6),
    };
    let udp = sockets::udp(SocketAddr::new(any, 0)).map_err(|error| error.to_string())?;
    let mut carrier = carrier(&loaded.file);
    // A path that takes less than is configured shall show it.
    carrier.largest_udp_payload = ethernet.max(carrier.certain_udp_payload);
    carrier.certain_udp_payload = 1200;
    Ok(Probe {
        udp,
        far,
        key: loaded.file.peer.key,
        identity: loaded.identity.clone(),
        carrier,
        outer_bytes: header_bytes(far.ip()) + null::OVERHEAD_BYTES as u32,
        connect_within: CONNECT_WITHIN,
    })
}

fn figures(loaded: &Loaded, found: &PathFigures, report: &mut Report) {
    report.add(
        "UDP",
        Verdict::Right,
        "far answers, and both keys are right",
    );
    let mut times: Vec<f64> = found
        .round_trips
        .iter()
        .map(|it| 1e3 * it.as_secs_f64())
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied();
    let configured = loaded.file.path.udp_payload;
    let payload = found.udp_payload;
    let (verdict, advice) = match payload.cmp(&configured) {
        Ordering::Less => (
            Verdict::Wrong,
            format!(
                ", but path.udp_payload is {configured}: make it {payload} or less at both gateways"
            ),
        ),
        Ordering::Equal => (Verdict::Right, String::new()),
        Ordering::Greater => (
            Verdict::Right,
            format!(
                "; path.udp_payload is {configured}. A larger one, up to {payload}, costs less overhead"
            ),
        ),
    };
    let detail = format!("UDP payloads of up to {payload} bytes cross to far{advice}");
    report.add("MTU", verdict, detail);
    if let Some(differs) = found.clock_s.filter(|it| it.abs() > CLOCK_DIFFERS_S) {
        let detail = format!("far's differs by {differs:.0} s: logs cannot be compared");
        report.add("clock", Verdict::Warning, detail);
    }
    let lost = found.questions.saturating_sub(times.len() as u64);
    if let (Some(least), Some(median), Some(most)) = (times.first(), median, times.last()) {
        let lost = if lost > 0 {
            format!("; {lost} of {} questions had no answer", found.questions)
        } else {
            String::new()
        };
        let detail = format!("{median:.1} ms ({least:.1} to {most:.1} ms){lost}");
        report.add("round trip", Verdict::Right, detail);
    } else {
        let detail = "far answers no questions: it is of an earlier version";
        report.add("round trip", Verdict::Warning, detail);
    }
    if found.busy {
        let detail =
            "far carries a session of this near: rates and loss are not measured beside it";
        report.add("path", Verdict::Warning, detail);
    }
    let (to_far, from_far) = (
        found.to_far.map(Measured::from),
        found.from_far.map(Measured::from),
    );
    for (what, of) in [("to far", to_far), ("from far", from_far)] {
        if let Some(of) = of {
            let verdict = if of.packets_came == 0 {
                Verdict::Wrong
            } else {
                Verdict::Right
            };
            let detail = format!(
                "{:.2} Mbit/s, loss {:.2} % ({} of {} packets came)",
                of.bit_s / 1e6,
                100.0 * of.loss,
                of.packets_came,
                of.packets_sent
            );
            report.add(what, verdict, detail);
        }
    }
    report.path = Some(Path {
        round_trip_ms_least: times.first().copied(),
        round_trip_ms_median: median,
        round_trip_ms_most: times.last().copied(),
        udp_payload_bytes: payload,
        clock_difference_s: found.clock_s,
        to_far,
        from_far,
    });
}
