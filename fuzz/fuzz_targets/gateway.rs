//! A gateway whose peer has a valid key and sends whatever it likes: control messages, datagrams, and frames in packets that the code
//! accepts. It may neither panic nor hang, and keeps no more than its settings allow.

#![no_main]

use arbitrary::Arbitrary;
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{Policy, SenderConfig, TunnelSender};
use bentpipe_gateway::{
    Config, Control, Event, FlowId, Hello, ResetCode, Role, Session, Target, VERSION,
};
use libfuzzer_sys::fuzz_target;
use std::net::{Ipv4Addr, SocketAddr};

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    Connect { datagram: u16 },
    Lose,
    Hello { session: u64, packet: u16, kept: u32, flow: u64, all: u64, flows: u32, datagrams: u32 },
    Control { bytes: &'a [u8] },
    Datagram { bytes: &'a [u8] },
    /// A packet of frames, or of what is none, as the code carries it.
    Packet { bytes: &'a [u8] },
    /// The same on the plane with datagrams.
    Datagrams { bytes: &'a [u8] },
    OpenChannel { user: u8, ip: bool },
    SendDatagram { flow: u8, bytes: u16, address: bool },
    Receive { count: u8 },
    Open { user: u8 },
    Write { flow: u8, bytes: u16 },
    Finish { flow: u8 },
    Reset { flow: u8 },
    Read { flow: u8 },
    Wait { micros: u32 },
    NextTimer,
}

const WINDOW: u64 = 200_000;
const MAX_FLOWS: u32 = 8;
const DATAGRAMS: u64 = 1 << 17;

fn target() -> Target {
    let at = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    Target { destination: at(80), source: at(1024) }
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
        datagram_buffer: DATAGRAMS,
        association_idle: Nanos::from_secs(120),
        ..Config::fixed(50_000_000, 90)
    };
    let mut session = Session::new(config, role, 1, 2).expect("settings that work");
    let mut sender = peer();
    let mut lossy = peer();
    let mut now = Time::ZERO;
    for step in steps {
        let flow = |number: u8| FlowId(u64::from(number));
        match step {
            Step::Connect { datagram } => {
                session.on_carrier_connected(now, usize::from(datagram));
                sender = peer();
                lossy = peer();
            }
            Step::Lose => session.on_carrier_lost(now),
            Step::Hello { session: number, packet, kept, flow, all, flows, datagrams } => {
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
                });
                session.handle_control(now, &hello.to_bytes());
            }
            Step::Control { bytes } => session.handle_control(now, bytes),
            Step::Datagram { bytes } => session.handle_datagram(now, bytes),
            Step::Packet { bytes } => {
                let mut datagram = vec![0];
                if sender.push(now, bytes).is_ok() {
                    while sender.poll_transmit(now, &mut datagram).is_some() {
                        session.handle_datagram(now, &datagram);
                        datagram.truncate(1);
                    }
                }
            }
            Step::Datagrams { bytes } => {
                let mut datagram = vec![1];
                if lossy.push(now, bytes).is_ok() {
                    while lossy.poll_transmit(now, &mut datagram).is_some() {
                        session.handle_datagram(now, &datagram);
                        datagram.truncate(1);
                    }
                }
            }
            Step::OpenChannel { user, ip: true } => {
                let _ = session.open_ip(now, user.into());
            }
            Step::OpenChannel { user, ip: false } => {
                let _ = session.open_udp(now, user.into(), &target());
            }
            Step::SendDatagram { flow: number, bytes, address } => {
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
            Step::Write { flow: number, bytes } => {
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
            out.clear();
            polls += 1;
            assert!(polls < 10_000, "the session does not come to rest");
        }
        while session.poll_control().is_some() {}
        while let Some(event) = session.poll_event() {
            if let Event::Opened { flow, .. } | Event::OpenedChannel { flow, .. } = event {
                session.set_user(flow, 3);
            }
        }
        assert!(session.waiting_bytes() <= WINDOW, "more than the window waits");
        let waits = session.waiting_datagram_bytes();
        assert!(waits <= 3 * DATAGRAMS, "{waits} bytes of datagrams wait");
        let timer = session.poll_timeout();
        assert!(timer.is_none_or(|at| at > now), "{timer:?} at {now:?}");
    }
});
