//! The handshake (RFC 9293, section 3.5) with the options of RFC 7323 and RFC 2018, ECN's (RFC 3168, section 6.1.1), and
//! the SYN's retransmission.
//!
//! A SYN that is not answered is repeated as by Linux 6.5 and later: see [`Socket::syn_timer`].

use super::Socket;
use super::State;
use crate::outbox::{Notice, Outbox};
use crate::rtt::RTO_INITIAL;
use crate::segment::{Segment, flag};

/// `tcp_syn_linear_timeouts`, `tcp_syn_retries` and `tcp_synack_retries` (`tcp_sk_init`, `net/ipv4/tcp_ipv4.c`).
const SYN_LINEAR_TIMEOUTS: u32 = 4;
const SYN_RETRIES: u32 = 6;
const SYN_ACK_RETRIES: u32 = 5;

/// Of a peer that does not say its own (RFC 9293, section 3.7.1), and the least that is heeded (`tcp_min_snd_mss`).
const MSS_UNSAID: u32 = 536;
const MSS_LEAST: u32 = 48;

impl Socket {
    pub(super) fn send_syn(&mut self, out: &mut Outbox) {
        self.window.view.snd_nxt = 1;
        self.send.write_seq = self.send.write_seq.max(1);
        let acknowledges = self.state == State::SynReceived;
        if self.counters.syn_sent_at.is_none() {
            self.counters.syn_sent_at = Some(self.window.now);
        }
        let packet = self.syn_packet(acknowledges);
        self.transmit(packet, out);
    }

    /// Takes the peer's options: what both offer holds.
    pub(super) fn negotiate(&mut self, syn: &Segment) {
        self.agreed = self.agreed.with(syn, self.state == State::SynReceived);
        match syn.syn.window_scale {
            Some(shift) if self.config.window_scaling => self.peer.scale = shift.min(14),
            _ => {
                self.peer.scale = 0;
                self.buffer.scale = 0;
            }
        }
        if let Some((value, _)) = syn.timestamps {
            self.timestamps.recent = value;
        }
        let option_bytes = self.agreed.option_bytes();
        let mss = match u32::from(syn.syn.mss) {
            0 => MSS_UNSAID,
            said => said,
        };
        self.window.view.mss = mss.min(self.output.advertised_mss).max(MSS_LEAST) - option_bytes;
        self.receiver
            .begin(self.output.advertised_mss - option_bytes);
        self.peer.begin(u64::from(syn.window));
    }

    /// The three-way handshake is done.
    pub(super) fn establish(&mut self, out: &mut Outbox) {
        let now = self.window.now;
        self.state = State::Established;
        self.window.view.snd_una = 1;
        self.window.view.delivered = 1;
        self.window.view.delivered_at = now;
        self.timers.clear_retransmit();
        if let Some(sent_at) = self.counters.syn_sent_at
            && self.retransmits == 0
        {
            let rtt = now - sent_at;
            self.rtt.sample_minimum(now, rtt);
            self.rtt.sample(rtt, 1, 1);
            self.window.view.srtt = self.rtt.srtt();
            self.window.view.min_rtt = self.rtt.minimum();
        } else if self.retransmits > 1 {
            // RFC 6298, section 5.7: a lost SYN restarts from an initial window of one.
            self.window.cwnd = 1;
        }
        self.retransmits = 0;
        self.timers.backoff = 0;
        self.buffer
            .establish(&self.config, self.receiver.advertised_mss);
        // `tcp_initialize_rcv_mss`: no more than either end's segments.
        self.delayed.rcv_mss = self
            .receiver
            .advertised_mss
            .min(self.window.mss)
            .min((self.receive_window() / 2) as u32)
            .clamp(88, 536);
        self.expand_send_buffer();
        self.control.init(&mut self.window);
        self.update_pacing_rate();
        out.notices.push(Notice::Connected);
    }

    pub(super) fn in_syn_sent(&mut self, packet: &Segment, out: &mut Outbox) {
        if packet.has(flag::RST) {
            self.fail(out);
        } else if packet.has(flag::SYN) && packet.has(flag::ACK) {
            self.negotiate(packet);
            self.establish(out);
            self.send_ack(out);
            self.fill_and_push(out);
        }
    }

    /// A SYN is repeated four times a second apart before it backs off, and six times after
    /// (`tcp_syn_linear_timeouts`, since 6.5, and `tcp_syn_retries`); a SYN-ACK backs off at once, five times
    /// (`tcp_synack_retries`).
    pub(super) fn syn_timer(&mut self, out: &mut Outbox) {
        let (linear, backed_off) = match self.state {
            State::SynSent => (SYN_LINEAR_TIMEOUTS, SYN_RETRIES),
            _ => (0, SYN_ACK_RETRIES),
        };
        self.retransmits += 1;
        if self.retransmits > linear + backed_off {
            self.fail(out);
            return;
        }
        self.counters.retransmits += 1;
        if self.retransmits <= linear {
            self.timers.retransmit_in(self.window.now, RTO_INITIAL);
        } else {
            self.timers.back_off();
            let after = self.timers.backed_off(RTO_INITIAL);
            self.timers.retransmit_in(self.window.now, after);
        }
        self.send_syn(out);
    }
}
