//! Packets that cross coded: real bytes enter, frames meet the path model, the same bytes leave.

use super::{Bed, HEADERS, MSS, VNET_BYTES, at, channel, super_packet_of, to};
use crate::datapath::{Beside, PipeReport, TunnelSetup};
use crate::family::Family;
use bentpipe_path::config::{ChannelConfig, LossConfig, PipeConfig, ShaperConfig};
use bentpipe_path::{DropCause, Nanos};
use bentpipe_tunnel::{Redundancy, TunnelConfig, TunnelFigures};
use std::time::Duration;

/// A full packet through a tunnel over IPv4 has 1462 bytes.
const INNER_MSS: usize = MSS - 38;
/// Outer IPv4 and UDP, and the header of a source frame.
const FRAME_HEADERS: usize = 28 + 4;

fn coded(ratio: f64) -> TunnelSetup {
    TunnelSetup {
        config: TunnelConfig {
            redundancy: Redundancy::Fixed { ratio },
            window_packets: 256,
            hold_ns: Nanos::from_millis(100),
            exact: None,
        },
        ip: Family::V4,
        beside: Beside::default(),
    }
}

fn bed(name: &str, up: PipeConfig, tunnel: TunnelSetup) -> Bed {
    Bed::with(name, up, Vec::new(), Some(tunnel))
}

fn losing(frames: &[usize]) -> PipeConfig {
    let mut lost = vec![false; 1000];
    for &frame in frames {
        lost[frame] = true;
    }
    channel(ChannelConfig {
        loss: LossConfig::Trace { lost },
        ..ChannelConfig::default()
    })
}

fn figures(of: &PipeReport) -> TunnelFigures {
    of.tunnel.clone().expect("there is a tunnel")
}

#[test]
fn a_super_packet_crosses_as_frames_of_wire_packets_and_leaves_as_it_was() {
    let bed = bed("coded", PipeConfig::default(), coded(0.0));
    let sent = super_packet_of(1, 40 * INNER_MSS + 10, INNER_MSS);
    bed.send(&sent);
    assert!(bed.receive() == Some(sent));
    let report = bed.stop();
    assert_eq!(report.up.totals.delivered.packets, 41);
    let payload_bytes = 40 * INNER_MSS + 10;
    assert_eq!(
        report.up.totals.delivered.bytes,
        (41 * (FRAME_HEADERS + HEADERS) + payload_bytes) as u64
    );
    assert_eq!(report.up.writes, 1);
    let figures = figures(&report.up);
    assert_eq!((figures.packets, figures.repairs, figures.lost), (41, 0, 0));
    assert_eq!(figures.overhead_bytes, 41 * FRAME_HEADERS as u64);
    assert_eq!(figures.inner_bytes, (41 * HEADERS + payload_bytes) as u64);
    assert_eq!(report.engine_error().all.unintended_loss, 0);
}

#[test]
fn what_the_path_loses_is_recovered_from_repairs() {
    let bed = bed("recovered", losing(&[3, 4]), coded(0.5));
    let sent = super_packet_of(9, 8 * INNER_MSS, INNER_MSS);
    bed.send(&sent);
    assert!(bed.receive() == Some(sent), "in order, and in one piece");
    let report = bed.stop();
    assert_eq!(report.up.totals.dropped_by(DropCause::Channel).packets, 2);
    let figures = figures(&report.up);
    assert_eq!((figures.repairs, figures.lost), (4, 0));
    assert!(figures.recovered > 0);
}

#[test]
fn a_packet_that_no_repair_gives_back_holds_the_others_up_and_then_is_missing() {
    let bed = bed("held", losing(&[2]), coded(0.0));
    bed.send(&super_packet_of(0, 6 * INNER_MSS, INNER_MSS));
    let seen = [bed.receive(), bed.receive()].map(|frame| {
        let frame = frame.expect("a part");
        (super::seq(&frame), super::payload_bytes(&frame))
    });
    let after = 3 * INNER_MSS;
    assert_eq!(seen, [(0, 2 * INNER_MSS), (after as u32, after)]);
    let report = bed.stop();
    assert_eq!(figures(&report.up).recovered, 0);
    assert_eq!(report.up.lateness.len(), 5 + figures(&report.down).reports);
}

#[test]
fn a_corrupted_frame_is_no_packet() {
    let corrupt = channel(ChannelConfig {
        corrupt: 1.0,
        ..ChannelConfig::default()
    });
    let bed = bed("flipped", corrupt, coded(0.0));
    bed.send(&super_packet_of(0, 100, INNER_MSS));
    assert_eq!(bed.receive(), None);
    let report = bed.stop();
    assert_eq!(report.up.totals.corrupted_packets, 1);
    assert_eq!(
        report.engine_error().all.unintended_loss,
        0,
        "the model meant it"
    );
}

#[test]
fn a_packet_that_is_longer_than_the_tunnels_mtu_is_dropped_and_counted() {
    let bed = bed("long", PipeConfig::default(), coded(0.0));
    bed.send(&super_packet_of(0, INNER_MSS + 1, INNER_MSS + 1));
    bed.send(&super_packet_of(7, INNER_MSS, INNER_MSS));
    assert_eq!(bed.receive().as_deref().map(super::seq), Some(7));
    assert_eq!(figures(&bed.stop().up).too_long, 1);
}

#[test]
fn reports_cross_the_other_pipe_and_reach_the_sender() {
    let mut adaptive = coded(0.0);
    adaptive.config.redundancy = Redundancy::Adaptive;
    // So long that a whole window is sent within it, however fast this machine is.
    adaptive.config.hold_ns = Nanos::from_secs(60);
    let bed = bed("reports", losing(&[]), adaptive);
    // So many that a repair more or less, by when a report comes, does not matter.
    let sent = 1000;
    for packet in 0..sent {
        bed.send(&super_packet_of(packet * 100, 100, INNER_MSS));
        assert!(bed.receive().is_some());
        std::thread::sleep(Duration::from_millis(2));
    }
    let report = bed.stop();
    let (up, down) = (figures(&report.up), figures(&report.down));
    assert!(up.reports >= 3, "{up:?}");
    // One that is made while the bed stops is not offered any more.
    let lost_at_the_stop = up.reports - report.down.totals.offered.packets;
    assert!(lost_at_the_stop <= 1, "{up:?}: {lost_at_the_stop}");
    assert_eq!(down.packets, 0);
    // At first 1 % of loss is assumed; without reports that would stay so.
    let assumed = bentpipe_fec::redundancy_for(0.01, 1.0, 256, 0.01);
    let ratio = f64::from(sent).recip() * up.repairs as f64;
    assert!(ratio < assumed, "{ratio} of {assumed}");
}

#[test]
fn packets_from_servers_far_away_enter_the_tunnel_when_they_have_come() {
    let bed = Bed::with(
        "far",
        PipeConfig::default(),
        vec![at("far", 100), at("near", 10)],
        Some(coded(0.0)),
    );
    bed.send(&to(super_packet_of(1, 100, INNER_MSS), [10, 77, 2, 1]));
    bed.send(&to(super_packet_of(2, 100, INNER_MSS), [10, 77, 2, 2]));
    let seen = [(); 2].map(|()| bed.receive().as_deref().map(super::seq));
    assert_eq!(seen, [Some(2), Some(1)]);
    assert_eq!(figures(&bed.stop().up).packets, 2);
}

#[test]
fn the_rate_is_that_of_frames_and_goodput_is_counted_behind_the_decoder() {
    let shaped = PipeConfig {
        shaper: ShaperConfig::Fixed {
            rate_bit_s: 10_000_000,
        },
        ..PipeConfig::default()
    };
    let bed = bed("paced", shaped, coded(0.1));
    for packet in 0..4 {
        bed.send(&super_packet_of(packet * 30_000, 30_000, INNER_MSS));
    }
    let mut received = 0;
    while received < 120_000 {
        received += super::payload_bytes(&bed.receive().expect("a packet"));
    }
    std::thread::sleep(Duration::from_millis(100));
    let csv = bed.folder.join("link.csv");
    let copy = bed.folder.with_extension("csv");
    std::fs::hard_link(&csv, &copy).expect("the same folder's parent");
    let report = bed.stop();
    let text = std::fs::read_to_string(&copy).expect("it was written");
    std::fs::remove_file(&copy).expect("it is ours");
    let up = text
        .lines()
        .filter(|line| line.split(',').nth(1) == Some("up"));
    let goodput: u64 = up
        .filter_map(|line| line.split(',').nth(4)?.parse::<u64>().ok())
        .sum();
    assert_eq!(goodput, 120_000, "each payload byte once");
    assert!(report.up.error().rate_error.is_some());
    assert!(report.up.totals.delivered.bytes > 120_000 + VNET_BYTES as u64);
}

/// An IPv4 echo request with `payload_bytes`.
fn echo(payload_bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; VNET_BYTES];
    frame.extend([0x45, 0]);
    frame.extend((28 + payload_bytes as u16).to_be_bytes());
    frame.extend([0, 7, 0, 0, 64, 1, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
    frame.extend([8, 0, 0, 0, 0, 1, 0, 1]);
    frame.resize(VNET_BYTES + 28 + payload_bytes, 0x55);
    frame
}

#[test]
fn what_a_tunnel_does_not_carry_crosses_as_it_is() {
    // 40000 is the source's port, 5201 the destination's.
    for (tcp_ports, echoes, carried) in [
        (vec![], false, 42),
        (vec![5202], false, 42),
        (vec![], true, 41),
        (vec![5201], false, 1),
        (vec![40_000], true, 0),
    ] {
        let mut setup = coded(0.0);
        setup.beside = Beside { tcp_ports, echoes };
        let bed = bed("beside", PipeConfig::default(), setup.clone());
        let sent = [
            super_packet_of(1, 40 * INNER_MSS + 10, INNER_MSS),
            echo(100),
        ];
        for frame in &sent {
            bed.send(frame);
            assert!(bed.receive().as_ref() == Some(frame), "{setup:?}");
        }
        let report = bed.stop();
        assert_eq!(figures(&report.up).packets, carried, "{setup:?}");
        assert_eq!(
            report.up.totals.delivered.bytes,
            sent.iter().map(|it| it.len() - VNET_BYTES).sum::<usize>() as u64
                + 40 * HEADERS as u64
                + carried * FRAME_HEADERS as u64
        );
        assert_eq!(report.up.lateness.len(), 42);
        assert_eq!(report.engine_error().all.unintended_loss, 0);
    }
}

#[test]
fn a_packet_beside_the_tunnel_does_not_wait_for_one_in_it() {
    let mut setup = coded(0.0);
    setup.beside.echoes = true;
    let bed = bed("passes", losing(&[0]), setup);
    bed.send(&super_packet_of(1, 10, INNER_MSS));
    bed.send(&super_packet_of(11, 10, INNER_MSS));
    bed.send(&echo(100));
    assert!(bed.receive() == Some(echo(100)));
    assert_eq!(bed.receive().as_deref().map(super::seq), Some(11));
    bed.stop();
}

#[test]
fn an_echo_that_leaves_behind_tcp_takes_nothing_of_it_away() {
    // They leave the tunnel together, when the hold of the lost packet ends.
    let bed = bed("behind", losing(&[0]), coded(0.0));
    bed.send(&super_packet_of(0, 4 * INNER_MSS, INNER_MSS));
    bed.send(&echo(100));
    let seen = bed.receive().expect("TCP");
    let expected = (INNER_MSS as u32, 3 * INNER_MSS);
    assert_eq!((super::seq(&seen), super::payload_bytes(&seen)), expected);
    assert!(bed.receive() == Some(echo(100)));
    bed.stop();
}
