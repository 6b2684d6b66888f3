//! The second coded plane: packets with datagrams. Repairs recover what they can in time; nothing is asked for.

use super::plane::PLANE_BYTES;
use crate::config::Config;
use crate::hello::Hello;
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{
    FrameError, FrameKind, ReceiverConfig, ReleaseOrder, SenderConfig, SenderConfigError, Sent,
    TunnelReceiver, TunnelSender,
};

/// The plane whose packets may be lost.
pub(crate) const LOSSY: u8 = 1;
/// Reports serve the estimate of losses only.
const REPORT_EVERY: Nanos = Nanos::from_millis(100);
/// A packet that comes so much later than those behind it is not waited for.
const GIVE_UP_AFTER: Nanos = Nanos::from_millis(300);
const END_OF_BURST: Nanos = Nanos::from_millis(5);
const MAX_UNKNOWNS: u32 = 256;

#[derive(Debug)]
pub(crate) struct Lossy {
    pub sender: TunnelSender,
    pub receiver: TunnelReceiver,
}

impl Lossy {
    /// `None`: one of both gateways takes no datagrams.
    pub fn new(
        config: &Config,
        peer: &Hello,
        own_max: usize,
        packet_max_bytes: usize,
    ) -> Result<Option<Self>, SenderConfigError> {
        if config.datagram_packets == 0 || peer.datagram_packets == 0 {
            return Ok(None);
        }
        let window = config
            .window_packets
            .min(config.datagram_packets)
            .min(peer.datagram_packets);
        let mut sender = TunnelSender::new(SenderConfig {
            window_packets: window,
            kept_packets: config.datagram_packets,
            packet_max_bytes: packet_max_bytes as u32,
            policy: config.redundancy,
            density_eighths: 8,
            end_of_burst: END_OF_BURST,
            recover_within: config.datagram_repair,
            titration: None,
        })?;
        sender.set_span(config.datagram_repair);
        let mut receiver = TunnelReceiver::new(ReceiverConfig {
            kept_packets: config.datagram_packets,
            packet_max_bytes: own_max as u32,
            max_unknowns: MAX_UNKNOWNS,
            order: ReleaseOrder::AsTheyCome,
            exact: None,
            report_every: REPORT_EVERY.max(config.report_every),
        });
        receiver.give_up_after(GIVE_UP_AFTER + config.datagram_repair);
        Ok(Some(Self { sender, receiver }))
    }

    /// A frame of the code came.
    pub fn handle(&mut self, now: Time, frame: &[u8]) -> Result<(), FrameError> {
        if FrameKind::of(frame) == Some(FrameKind::Report) {
            self.sender.handle(now, frame)
        } else {
            self.receiver.handle(now, frame)
        }
    }

    fn datagram(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Self, &mut Vec<u8>) -> Option<Sent>,
    ) -> Option<Sent> {
        let before = out.len();
        out.extend_from_slice(&[LOSSY; PLANE_BYTES]);
        let sent = write(self, out);
        if sent.is_none() {
            out.truncate(before);
        }
        sent
    }

    pub fn poll_report(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        self.datagram(out, |it, out| it.receiver.poll_transmit(now, out))
    }

    /// A repair, if one is due.
    pub fn poll_repair(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        self.datagram(out, |it, out| it.sender.poll_transmit(now, out))
    }

    pub fn push(&mut self, now: Time, packet: &[u8], out: &mut Vec<u8>) -> Option<Sent> {
        self.sender.push(now, packet).ok()?;
        self.datagram(out, |it, out| it.sender.poll_transmit(now, out))
    }

    /// When a report is due, which does not wait for the pacer, and when a repair is.
    pub fn poll_timeout(&self) -> [Option<Time>; 2] {
        [self.receiver.poll_timeout(), self.sender.poll_timeout()]
    }
}
