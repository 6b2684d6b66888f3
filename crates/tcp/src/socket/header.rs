//! Packets as they leave: flags, the acknowledgement, the window, and the options of RFC 7323 and RFC 2018.

use super::Socket;
use crate::outbox::Outbox;
use crate::segment::{SackBlocks, Segment, SynOptions, flag};

impl Socket {
    /// A packet with this socket's acknowledgement, window, timestamps and SACK blocks.
    pub(super) fn packet(&mut self, flags: u8, seq: u64) -> Segment {
        let mut packet = Segment {
            flags,
            seq,
            ack: self.receiver.rcv_nxt,
            segments: 1,
            ..Segment::default()
        };
        if flags & flag::ACK != 0 && self.agreed.ecn && self.receiver.echo_ce {
            packet.flags |= flag::ECE;
        }
        if self.agreed.timestamps {
            packet.timestamps = Some((self.timestamp(), self.timestamps.recent));
        }
        if self.agreed.sack {
            let most = if self.agreed.timestamps { 3 } else { 4 };
            packet.sack = self.receiver.take_sack_blocks(most);
        }
        packet.window = self.advertise();
        packet.wire_bytes = self.header_bytes(&packet.sack);
        packet
    }

    pub(super) fn header_bytes(&self, sack: &SackBlocks) -> u32 {
        self.output.ip_header + 20 + self.agreed.option_bytes() + sack.wire_bytes()
    }

    pub(super) fn syn_packet(&mut self, acknowledges: bool) -> Segment {
        let mut flags = flag::SYN;
        if acknowledges {
            flags |= flag::ACK;
            if self.agreed.ecn {
                flags |= flag::ECE;
            }
        } else if self.agreed.ecn {
            flags |= flag::ECE | flag::CWR;
        }
        let scale = (self.config.window_scaling
            && (!acknowledges || self.buffer.scale > 0 || self.peer.scale > 0))
            .then_some(self.buffer.scale);
        let mut options = 4;
        if scale.is_some() {
            options += 4;
        }
        if self.agreed.timestamps {
            options += 12;
        } else if self.agreed.sack {
            options += 4;
        }
        Segment {
            flags,
            seq: 0,
            ack: u64::from(acknowledges),
            window: self.buffer.initial_window(),
            timestamps: self
                .agreed
                .timestamps
                .then(|| (self.timestamp(), self.timestamps.recent)),
            syn: SynOptions {
                mss: self.output.advertised_mss as u16,
                window_scale: scale,
                sack_permitted: self.agreed.sack,
            },
            wire_bytes: self.output.ip_header + 20 + options,
            segments: 1,
            ..Segment::default()
        }
    }

    pub(super) fn transmit(&mut self, packet: Segment, out: &mut Outbox) {
        self.counters.segments_out += 1;
        if packet.has(flag::ACK) {
            self.ack_sent();
        }
        out.packets.push(packet);
    }

    pub(super) fn send_ack(&mut self, out: &mut Outbox) {
        let packet = self.packet(flag::ACK, self.window.snd_nxt);
        self.transmit(packet, out);
    }

    pub(super) fn data_packet(&mut self, seq: u64, length: u32, header_flags: u8) -> Segment {
        let fin = u32::from(header_flags & flag::FIN != 0);
        let mut packet = self.packet(flag::ACK | header_flags, seq);
        packet.payload = length - fin;
        packet.wire_bytes += packet.payload;
        // SACK blocks must not push a full segment over the MTU.
        if !packet.sack.is_empty() && packet.payload + packet.sack.wire_bytes() > self.window.mss {
            packet.wire_bytes -= packet.sack.wire_bytes();
            packet.sack = SackBlocks::default();
        }
        packet
    }

    /// Sends one packet with sequence space.
    pub(super) fn emit(&mut self, packet: Segment, out: &mut Outbox) {
        self.counters.bytes_sent += u64::from(packet.payload);
        self.counters.data_segments_out += 1;
        self.transmit(packet, out);
    }
}
