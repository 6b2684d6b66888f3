//! A gateway whose peer has a valid key and sends whatever it likes: control messages, datagrams, and frames in packets that the code
//! accepts. It may neither panic nor hang, and keeps no more than its settings allow.

#![no_main]

#[path = "gateway/steps.rs"]
mod steps;

use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{
    Policy, ReceiverConfig, ReleaseOrder, SenderConfig, TunnelReceiver, TunnelSender,
};
use bentpipe_gateway::{
    Channel, Config, Control, Datagram, Event, FlowId, Frame, Hello, NamedTarget, Piece, ResetCode,
    Role, Session, Target, VERSION,
};
use libfuzzer_sys::fuzz_target;
use std::net::{Ipv4Addr, SocketAddr};
use steps::{AnyDatagram, AnyFrame, Step};

const WINDOW: u64 = 200_000;
const MAX_FLOWS: u32 = 8;
const DATAGRAMS: u64 = 1 << 17;
/// What the peer greets with, if nothing else is said.
const FIRST: Hello = Hello {
    version: VERSION,
    epoch: 7,
    session: 0,
    packet_max_bytes: 1400,
    kept_packets: 1024,
    flow_credit: 100_000,
    session_credit: 200_000,
    flows: 8,
    datagram_packets: 1024,
    age_us: 5_000_000,
    clock_us: 1_000_000_000,
};

fn target() -> Target {
    let at = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    Target {
        destination: at(80),
        source: at(1024),
    }
}

fn targets(kind: u8) -> Vec<u8> {
    match kind % 4 {
        0 => target().to_bytes(),
        1 => Channel::Udp(target()).to_bytes(),
        2 => Channel::Ip.to_bytes(),
        _ => NamedTarget::new("example.org", 80, target().source)
            .expect("a name")
            .to_bytes(),
    }
}

/// What the peer takes in.
fn peer_receiver() -> TunnelReceiver {
    TunnelReceiver::new(ReceiverConfig {
        kept_packets: 1024,
        packet_max_bytes: 65_535,
        max_unknowns: 8,
        order: ReleaseOrder::AsTheyCome,
        exact: None,
        report_every: Nanos(1),
    })
}

/// Hands a packet over as the code carries it.
fn deliver(session: &mut Session, sender: &mut TunnelSender, plane: u8, now: Time, packet: &[u8]) {
    let mut datagram = vec![plane];
    if sender.push(now, packet).is_ok() {
        while sender.poll_transmit(now, &mut datagram).is_some() {
            session.handle_datagram(now, &datagram);
            datagram.truncate(1);
        }
    }
}

/// What codes the packets that the peer sends.
fn peer() -> TunnelSender {
    TunnelSender::new(SenderConfig {
        window_packets: 64,
        kept_packets: 1024,
        packet_max_bytes: 1400,
        policy: Policy::Fixed { ratio: 0.2 },
        density_eighths: 8,
        end_of_burst: Nanos(1000),
        recover_within: Nanos(1_000_000),
        titration: None,
    })
    .expect("the peer can send")
}

fuzz_target!(|input: (bool, Vec<Step>)| {
    let (is_near, steps) = input;
    let role = if is_near { Role::Near } else { Role::Far };
    let config = Config {
        session_window: WINDOW,
        flow_window: 100_000,
        flow_start_window: 70_000,
        send_buffer: 5000,
        max_flows: MAX_FLOWS,
        kept_packets: 300,
        takes_udp: true,
        takes_ip: role == Role::Far,
        takes_names: role == Role::Far,
        datagram_buffer: DATAGRAMS,
        association_idle: Nanos::from_secs(120),
        ..Config::fixed(50_000_000, 90)
    };
    let mut session = Session::new(config, role, 1, 2).expect("settings that work");
    let mut sender = peer();
    let mut lossy = peer();
    let (mut heard, mut heard_lossy) = (peer_receiver(), peer_receiver());
    let mut offsets = [0_u64; 256];
    // One datagram in so many is lost. The session that the gateway has named last.
    let mut keep = 0;
    let mut count = 0_u64;
    let mut named = 0;
    let mut now = Time::ZERO;
    for step in steps {
        let flow = |number: u8| FlowId(u64::from(number));
        match step {
            Step::Connect { datagram } => {
                session.on_carrier_connected(now, usize::from(datagram));
            }
            Step::Resume { datagram, packet } => {
                session.on_carrier_connected(now, usize::from(datagram));
                let hello = Hello {
                    session: named,
                    packet_max_bytes: packet,
                    ..FIRST
                };
                let before = session.figures().sessions;
                session.handle_control(now, &Control::Hello(hello).to_bytes());
                if session.figures().sessions > before {
                    (sender, lossy) = (peer(), peer());
                    (heard, heard_lossy) = (peer_receiver(), peer_receiver());
                    offsets = [0; 256];
                }
            }
            Step::Lose => session.on_carrier_lost(now),
            Step::Hello {
                session: number,
                packet,
                kept,
                flow,
                all,
                flows,
                datagrams,
            } => {
                let hello = Control::Hello(Hello {
                    version: VERSION,
                    epoch: 7,
                    session: number,
                    packet_max_bytes: packet,
                    kept_packets: kept,
                    flow_credit: flow,
                    session_credit: all,
                    flows,
                    datagram_packets: datagrams,
                    ..FIRST
                });
                let before = session.figures().sessions;
                session.handle_control(now, &hello.to_bytes());
                if session.figures().sessions > before {
                    (sender, lossy) = (peer(), peer());
                    (heard, heard_lossy) = (peer_receiver(), peer_receiver());
                    offsets = [0; 256];
                }
            }
            Step::Control { bytes } => session.handle_control(now, bytes),
            Step::Datagram { bytes } => session.handle_datagram(now, bytes),
            Step::Packet { bytes } => deliver(&mut session, &mut sender, 0, now, bytes),
            Step::Datagrams { bytes } => deliver(&mut session, &mut lossy, 1, now, bytes),
            Step::Frames { frames } => {
                let mut packet = Vec::new();
                let filler = [5; 1200];
                for frame in frames {
                    let id = match frame {
                        AnyFrame::Data { flow, .. }
                        | AnyFrame::Next { flow, .. }
                        | AnyFrame::Target { flow, .. }
                        | AnyFrame::Reset { flow, .. }
                        | AnyFrame::FlowCredit { flow, .. } => flow,
                        _ => 0,
                    };
                    let next = &mut offsets[usize::from(id)];
                    let flow = flow(id);
                    let target;
                    let frame = match frame {
                        AnyFrame::Data {
                            offset, bytes, end, ..
                        } => {
                            let bytes = &filler[..bytes.into()];
                            Frame::Data {
                                flow,
                                offset: offset.into(),
                                bytes,
                                end,
                            }
                        }
                        AnyFrame::Next { bytes, end, .. } => {
                            let bytes = &filler[..usize::from(bytes).min(1000)];
                            let offset = core::mem::replace(next, *next + bytes.len() as u64);
                            Frame::Data {
                                flow,
                                offset,
                                bytes,
                                end,
                            }
                        }
                        AnyFrame::Target { kind, .. } => {
                            target = targets(kind);
                            *next = target.len() as u64;
                            Frame::Data {
                                flow,
                                offset: 0,
                                bytes: &target,
                                end: false,
                            }
                        }
                        AnyFrame::Reset { code, .. } => Frame::Reset { flow, code },
                        AnyFrame::FlowCredit { more, .. } => Frame::FlowCredit {
                            flow,
                            limit: more.into(),
                        },
                        AnyFrame::SessionCredit { limit } => {
                            Frame::SessionCredit { limit: limit >> 2 }
                        }
                        AnyFrame::FlowsCredit { limit } => Frame::FlowsCredit { limit: limit >> 2 },
                    };
                    let before = packet.len();
                    frame.write(&mut packet);
                    if packet.len() > 1400 {
                        packet.truncate(before);
                        break;
                    }
                }
                deliver(&mut session, &mut sender, 0, now, &packet);
            }
            Step::DatagramFrames { frames } => {
                let mut packet = Vec::new();
                let filler = [6; 255];
                for frame in frames {
                    let before = packet.len();
                    match frame {
                        AnyDatagram::Whole {
                            flow: number,
                            address,
                            bytes,
                        } => {
                            let address = address.then_some(target().source);
                            let bytes = &filler[..bytes.into()];
                            Datagram {
                                flow: flow(number),
                                address,
                                bytes,
                            }
                            .write(&mut packet);
                        }
                        AnyDatagram::Piece {
                            number,
                            total,
                            offset,
                            bytes,
                        } => Piece {
                            number: number.into(),
                            total: total.into(),
                            offset: offset.into(),
                            bytes: &filler[..bytes.into()],
                        }
                        .write(&mut packet),
                    }
                    if packet.len() > 1400 {
                        packet.truncate(before);
                        break;
                    }
                }
                deliver(&mut session, &mut lossy, 1, now, &packet);
            }
            Step::Skip {
                lossy: of_lossy,
                packets,
            } => {
                let sender = if of_lossy { &mut lossy } else { &mut sender };
                let mut lost = Vec::new();
                for _ in 0..packets % 2000 {
                    if sender.push(now, &[]).is_ok() {
                        while sender.poll_transmit(now, &mut lost).is_some() {}
                        lost.clear();
                    }
                }
            }
            Step::Report { keep_every } => {
                keep = keep_every;
                for (plane, receiver) in [(0, &mut heard), (1, &mut heard_lossy)] {
                    let mut report = vec![plane];
                    if receiver.poll_transmit(now, &mut report).is_some() {
                        session.handle_datagram(now, &report);
                    }
                }
            }
            Step::OpenNamed { user } => {
                let named = NamedTarget::new("example.org", 80, target().source);
                let _ = session.open_named(user.into(), &named.expect("a name"));
            }
            Step::OpenChannel { user, ip: true } => {
                let _ = session.open_ip(now, user.into());
            }
            Step::OpenChannel { user, ip: false } => {
                let _ = session.open_udp(now, user.into(), &target());
            }
            Step::SendDatagram {
                flow: number,
                bytes,
                address,
            } => {
                let address = address.then_some(target().source);
                session.send_datagram(now, flow(number), address, &vec![7; bytes.into()]);
            }
            Step::Receive { count } => {
                for _ in 0..count {
                    session.poll_received();
                }
            }
            Step::Open { user } => {
                let _ = session.open(user.into(), &target());
            }
            Step::Write {
                flow: number,
                bytes,
            } => {
                session.write(flow(number), &vec![9; bytes.into()]);
            }
            Step::Finish { flow: number } => session.finish(flow(number)),
            Step::Reset { flow: number } => session.reset(flow(number), ResetCode::Host),
            Step::Read { flow: number } => {
                let ready = session.readable(flow(number)).len();
                session.consume(flow(number), ready);
            }
            Step::Wait { micros } => now += Nanos(i64::from(micros) * 1000),
            Step::NextTimer => {
                if let Some(next) = session.poll_timeout() {
                    now = now.max(next.min(now + Nanos::from_secs(1000)));
                }
            }
        }
        session.handle_timeout(now);
        let mut polls = 0;
        let mut out = Vec::new();
        while session.poll_datagram(now, &mut out).is_some() {
            count += 1;
            if keep == 0 || !count.is_multiple_of(keep.into()) {
                let receiver = if out[0] == 0 {
                    &mut heard
                } else {
                    &mut heard_lossy
                };
                let _ = receiver.handle(now, &out[1..]);
                while receiver.poll_release(now).is_some() {}
            }
            out.clear();
            polls += 1;
            assert!(polls < 10_000, "the session does not come to rest");
        }
        while let Some(message) = session.poll_control() {
            if let Ok(Control::Hello(hello)) = Control::from_bytes(&message) {
                named = hello.session;
            }
        }
        while let Some(event) = session.poll_event() {
            if let Event::Opened { flow, .. }
            | Event::OpenedNamed { flow, .. }
            | Event::OpenedChannel { flow, .. } = event
            {
                session.set_user(flow, 3);
            }
        }
        assert!(
            session.waiting_bytes() <= WINDOW,
            "more than the window waits"
        );
        let waits = session.waiting_datagram_bytes();
        assert!(waits <= 3 * DATAGRAMS, "{waits} bytes of datagrams wait");
        let timer = session.poll_timeout();
        assert!(timer.is_none_or(|at| at > now), "{timer:?} at {now:?}");
    }
});
