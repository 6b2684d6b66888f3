//! What leaves: new data in bursts sized as Linux sizes them (`tcp_write_xmit`, `tcp_tso_autosize`,
//! `tcp_tso_should_defer`), retransmissions, pacing, cwnd validation (RFC 7661's problem in Linux's solution), slow start
//! after idle (RFC 2861), Nagle with Minshall's change, and zero-window probes.
//!
//! 1. TCP Small Queues never bind: what the host sends is at the pipe's entrance at once, as on a device that
//!    orphans its buffers (TUN).
//! 2. A burst leaves as its wire segments at one instant.

use super::Socket;
use super::chrono::Limit;
use super::scoreboard::{BURST_HEAD, EVER_RETRANS, Sent};
use super::socket::Outbox;
use super::timers::Retransmit;
use crate::congestion::{CaState, CwndEvent};
use crate::packet::{Packet, SackBlocks, SynOptions, flag};
use bentpipe_path::packet::Ecn;
use bentpipe_path::time::{Nanos, Time};

const MILLISECOND: Nanos = Nanos::from_millis(1);

#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub advertised_mss: u32,
    ip_header: u32,
    pub fin_seq: Option<u64>,
    /// Send CWR with the next new data (RFC 3168, section 6.1.2).
    pub announce_cwr: bool,
    pub probes_out: u32,
    /// Last time the window was full, or changed otherwise (`snd_cwnd_stamp`).
    pub cwnd_stamp: Time,
    cwnd_used: u32,
    usage_seq: u64,
    /// End of the last segment smaller than full.
    small_end: u64,
}

impl Output {
    pub fn new(advertised_mss: u32, ip_header: u32) -> Self {
        Self {
            advertised_mss,
            ip_header,
            fin_seq: None,
            announce_cwr: false,
            probes_out: 0,
            cwnd_stamp: Time::ZERO,
            cwnd_used: 0,
            usage_seq: 0,
            small_end: 0,
        }
    }
}

impl Socket {
    // --- packets ---

    /// A packet with this socket's acknowledgement, window, timestamps and SACK blocks.
    pub(super) fn packet(&mut self, flags: u8, seq: u64) -> Packet {
        let mut packet = Packet {
            connection: self.id,
            flags,
            seq,
            ack: self.receiver.rcv_nxt,
            segments: 1,
            ..Packet::default()
        };
        if flags & flag::ACK != 0 && self.ecn_ok && self.receiver.echo_ce {
            packet.flags |= flag::ECE;
        }
        if self.timestamps_ok {
            packet.timestamps = Some((self.timestamp(), self.ts_recent));
        }
        packet.sack = self.sack_blocks();
        packet.window = self.advertise();
        packet.wire_bytes = self.header_bytes(&packet.sack);
        packet
    }

    fn header_bytes(&self, sack: &SackBlocks) -> u32 {
        let timestamps = if self.timestamps_ok { 12 } else { 0 };
        self.output.ip_header + 20 + timestamps + sack.wire_bytes()
    }

    pub(super) fn syn_packet(&mut self, acknowledges: bool) -> Packet {
        let mut flags = flag::SYN;
        if acknowledges {
            flags |= flag::ACK;
            if self.ecn_ok {
                flags |= flag::ECE;
            }
        } else if self.ecn_ok {
            flags |= flag::ECE | flag::CWR;
        }
        let scale = (self.config.window_scaling
            && (!acknowledges || self.rcv_wscale > 0 || self.snd_wscale > 0))
            .then_some(self.rcv_wscale);
        let mut options = 4;
        if scale.is_some() {
            options += 4;
        }
        if self.timestamps_ok {
            options += 12;
        } else if self.sack_ok {
            options += 4;
        }
        Packet {
            connection: self.id,
            flags,
            seq: 0,
            ack: if acknowledges { 1 } else { 0 },
            window: self.buffer.initial_window(),
            timestamps: self
                .timestamps_ok
                .then(|| (self.timestamp(), self.ts_recent)),
            syn: SynOptions {
                mss: self.output.advertised_mss as u16,
                window_scale: scale,
                sack_permitted: self.sack_ok,
            },
            wire_bytes: self.output.ip_header + 20 + options,
            segments: 1,
            ..Packet::default()
        }
    }

    pub(super) fn transmit(&mut self, packet: Packet, out: &mut Outbox) {
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

    /// Sends a segment of the flight once more.
    pub(super) fn send_again(&mut self, id: u64, out: &mut Outbox) {
        let sent = *self.board.get(id);
        self.counters.retransmits += 1;
        self.counters.bytes_retransmitted += u64::from(sent.length);
        let packet = self.data_packet(sent.seq, sent.length, sent.header_flags);
        self.emit(packet, out);
        self.space_departure(u64::from(sent.length));
        let mut stamped = *self.board.get(id);
        self.rate.sent(&mut self.window, &mut stamped);
        stamped.flags |= EVER_RETRANS;
        *self.board.get_mut(id) = stamped;
        let now = self.window.now;
        self.board.stamp(id, now);
    }

    fn data_packet(&mut self, seq: u64, length: u32, header_flags: u8) -> Packet {
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
    fn emit(&mut self, packet: Packet, out: &mut Outbox) {
        self.counters.bytes_sent += u64::from(packet.payload);
        self.counters.data_segments_out += 1;
        self.transmit(packet, out);
    }

    // --- pacing ---

    /// Sets when the next burst may leave. The first ten segments are free, and up to half a burst's time is forgiven
    /// if it leaves late (`tcp_update_skb_after_send`).
    fn space_departure(&mut self, payload: u64) {
        let w = &mut self.window;
        let prior = w.next_departure;
        w.next_departure = prior.max(w.now);
        if !self.control.paces() || self.counters.data_segments_out < 10 {
            return;
        }
        if let Some(rate) = w.pacing_rate
            && rate > 0
        {
            let length = (u128::from(payload) * 1_000_000_000 / u128::from(rate)) as i64;
            let credit = w.next_departure.0.saturating_sub(prior.0);
            w.next_departure += Nanos(length - credit.min(length / 2));
        }
    }

    pub(super) fn paced_out(&mut self) -> bool {
        if !self.control.paces() || self.window.next_departure <= self.window.now {
            return false;
        }
        self.timers.pacing = Some(self.window.next_departure);
        true
    }

    pub(super) fn resume_paced(&mut self, out: &mut Outbox) {
        if self.window.state >= CaState::Recovery {
            self.retransmit_lost(out);
        }
        self.push(out);
        self.check_space(out);
    }

    /// The default rate: twice the window per RTT in slow start, 1.2 times later; it sizes bursts.
    pub(super) fn update_pacing_rate(&mut self) {
        if self.control.controls_all() {
            return;
        }
        let w = &mut self.window;
        let percent = if w.cwnd < w.ssthresh / 2 { 200 } else { 120 };
        let bytes = u128::from(w.mss) * u128::from(w.cwnd.max(w.packets_out)) * percent;
        if w.srtt.0 > 0 {
            let rate = bytes * 10_000_000 / w.srtt.0 as u128;
            w.pacing_rate = Some(rate.min(u128::from(u64::MAX)) as u64);
        }
    }

    /// Segments per burst: about a millisecond's worth, more where the RTT is tiny (`tcp_tso_autosize`).
    fn burst_segments(&self) -> u32 {
        let gso = u64::from(self.config.memory.gso_bytes);
        let mut bytes = self.window.pacing_rate.map_or(gso, |rate| rate >> 10);
        let shift = self
            .window
            .min_rtt
            .map_or(32, |least| (least.0 / 1000) >> 9);
        if shift < 32 {
            bytes += gso >> shift;
        }
        let most = (gso / u64::from(self.window.mss)).max(1) as u32;
        let segments = (bytes.min(gso) / u64::from(self.window.mss)) as u32;
        segments
            .max(self.control.min_tso_segments(&self.window))
            .min(most)
    }

    // --- sending new data ---

    pub(super) fn window_end(&self) -> u64 {
        self.window.snd_una + self.send.window_bytes
    }

    /// Payload waiting, or a FIN.
    pub(super) fn has_unsent(&self) -> bool {
        self.send.write_seq > self.window.snd_nxt || self.fin_waits()
    }

    fn fin_waits(&self) -> bool {
        self.send.closing
            && self.send.offered == 0
            && self.output.fin_seq.is_none()
            && self.can_send()
    }

    /// Whether the next segment lies inside the peer's window.
    pub(super) fn next_fits_window(&self) -> bool {
        let unsent = self.send.write_seq - self.window.snd_nxt.min(self.send.write_seq);
        let length = unsent
            .min(u64::from(self.window.mss))
            .max(u64::from(self.fin_waits()));
        self.window.snd_nxt + length <= self.window_end()
    }

    pub(super) fn can_send_new(&self) -> bool {
        self.has_unsent() && self.next_fits_window()
    }

    /// Sends what may be sent, and probes a closed window (`__tcp_push_pending_frames`).
    pub(super) fn push(&mut self, out: &mut Outbox) {
        if !self.has_unsent() {
            return;
        }
        self.send_new(u32::MAX, false, out);
        if self.window.packets_out == 0
            && self.has_unsent()
            && self.timers.pending().is_none()
            && !self.is_paced_out()
        {
            let after = self.backed_off_rto();
            self.timers.arm(Retransmit::Probe, self.window.now, after);
        }
    }

    fn is_paced_out(&self) -> bool {
        self.timers.pacing.is_some()
    }

    /// New data, at most `bursts` of them; a `probe` may exceed cwnd by one segment.
    pub(super) fn send_new(&mut self, bursts: u32, probe: bool, out: &mut Outbox) {
        let mss = self.window.mss;
        let most = self.burst_segments();
        let mut sent_segments = 0;
        let mut cwnd_limited = false;
        let mut window_limited = false;
        let mut sent_bursts = 0;
        while sent_bursts < bursts && self.has_unsent() && !self.paced_out() {
            let in_flight = self.window.in_flight();
            let mut quota = self.window.cwnd.saturating_sub(in_flight);
            if quota == 0 {
                if !probe {
                    break;
                }
                quota = 1;
            }
            // No more than half the window at once (`tcp_cwnd_test`).
            let half = (self.window.cwnd >> 1).max(1);
            quota = if probe { 1 } else { quota.min(half).min(most) };
            if !self.next_fits_window() {
                window_limited = true;
                break;
            }
            let unsent = self.send.write_seq - self.window.snd_nxt.min(self.send.write_seq);
            let segments = unsent.div_ceil(u64::from(mss)).min(u64::from(most));
            if segments <= 1 {
                if unsent < u64::from(mss) && !self.nagle_allows(unsent) {
                    break;
                }
            } else if !probe
                && self.should_defer(most, unsent, &mut cwnd_limited, &mut window_limited)
            {
                break;
            }
            let room = self.window_end() - self.window.snd_nxt;
            let mut bytes = unsent
                .min(u64::from(quota) * u64::from(mss))
                .min(room.max(1));
            // Silly-window avoidance: part of a segment leaves only as the last of the data.
            if bytes < unsent && bytes >= u64::from(mss) {
                bytes -= bytes % u64::from(mss);
            }
            let whole = bytes - bytes % u64::from(mss);
            if bytes > whole && whole > 0 && !self.nagle_allows(bytes - whole) {
                bytes = whole;
            }
            sent_segments += self.send_burst(bytes, out);
            sent_bursts += 1;
        }
        if window_limited {
            self.chrono.start(self.window.now, Limit::ReceiveWindow);
        } else {
            self.stop_chrono(Limit::ReceiveWindow);
        }
        cwnd_limited |= self.window.in_flight() >= self.window.cwnd;
        if sent_segments > 0 || cwnd_limited {
            self.validate_cwnd(cwnd_limited);
        }
        if sent_segments > 0 {
            if matches!(self.window.state, CaState::Cwr | CaState::Recovery) {
                self.recovery.prr_out += sent_segments;
            }
            if !probe {
                self.schedule_loss_probe(false);
            }
        }
    }

    fn send_burst(&mut self, bytes: u64, out: &mut Outbox) -> u32 {
        let mss = u64::from(self.window.mss);
        let mut left = bytes;
        let mut count = 0;
        let was_empty = self.window.packets_out == 0;
        if self.window.in_flight() == 0 {
            self.control
                .cwnd_event(&mut self.window, CwndEvent::TxStart);
        }
        loop {
            let length = left.min(mss);
            left -= length;
            let seq = self.window.snd_nxt;
            let ends_data = seq + length == self.send.write_seq;
            let mut header_flags = if ends_data && length > 0 {
                flag::PSH
            } else {
                0
            };
            let fin = ends_data && self.fin_waits() && seq + length < self.window_end();
            if fin {
                header_flags |= flag::FIN;
            }
            if length == 0 && !fin {
                break;
            }
            let mut segment = Sent::new(seq, length as u32 + u32::from(fin), header_flags);
            segment.sent_at = self.window.now;
            if count == 0 {
                segment.flags |= BURST_HEAD;
                self.send.buffers_out += 1;
            }
            let mut packet = self.data_packet(seq, segment.length, header_flags);
            if self.ecn_ok && length > 0 {
                packet.ecn = Ecn::Ect0;
                if self.output.announce_cwr {
                    packet.flags |= flag::CWR;
                    self.output.announce_cwr = false;
                }
            }
            self.rate.sent(&mut self.window, &mut segment);
            self.emit(packet, out);
            if fin {
                self.queue_fin(seq + length);
                self.send.write_seq += 1;
            }
            self.board.push(segment);
            self.window.packets_out += 1;
            self.window.snd_nxt = segment.end();
            if length < mss {
                self.output.small_end = self.window.snd_nxt;
            }
            count += 1;
            if left == 0 {
                break;
            }
        }
        if count > 0 {
            self.space_departure(bytes);
            self.window.last_sent = self.window.now;
            self.data_sent_after_data();
            self.chrono.start(self.window.now, Limit::Busy);
            if was_empty || self.timers.pending() == Some(Retransmit::LossProbe) {
                self.rearm_timeout();
            }
        }
        count
    }

    /// Nagle with Minshall's change: a small segment waits while another small one is unacknowledged.
    fn nagle_allows(&self, _length: u64) -> bool {
        let small_out = self.output.small_end > self.window.snd_una
            && self.output.small_end <= self.window.snd_nxt;
        !(self.config.nagle && self.window.packets_out > 0 && small_out) || self.fin_waits()
    }

    /// Waits for the next ACK if that would make a fuller burst (`tcp_tso_should_defer`).
    fn should_defer(
        &self,
        most: u32,
        unsent: u64,
        cwnd_limited: &mut bool,
        window_limited: &mut bool,
    ) -> bool {
        let w = &self.window;
        if w.state >= CaState::Recovery || w.now - w.next_departure > MILLISECOND {
            return false;
        }
        let mss = u64::from(w.mss);
        let window_room = self.window_end() - w.snd_nxt;
        let cwnd_room = u64::from(w.cwnd.saturating_sub(w.in_flight())) * mss;
        let limit = window_room.min(cwnd_room);
        if limit >= u64::from(most) * mss || limit >= unsent {
            return false;
        }
        let chunk = self.send.window_bytes.min(u64::from(w.cwnd) * mss) / 3;
        if limit >= chunk {
            return false;
        }
        let Some(head) = self.board.head() else {
            return false;
        };
        // The next ACK is likely to come soon only if half a round trip has passed since the head left.
        if (w.now - head.sent_at).0 < w.srtt.0 >> 1 {
            return false;
        }
        if cwnd_room < window_room {
            *cwnd_limited = true;
        } else {
            *window_limited = true;
        }
        true
    }

    // --- cwnd validation ---

    fn validate_cwnd(&mut self, limited: bool) {
        let w = &mut self.window;
        let o = &mut self.output;
        if w.snd_una >= o.usage_seq
            || limited
            || (!w.cwnd_limited && w.packets_out > w.max_packets_out)
        {
            w.cwnd_limited = limited;
            w.max_packets_out = w.packets_out;
            o.usage_seq = w.snd_nxt;
        }
        if w.is_cwnd_limited() {
            o.cwnd_used = 0;
            o.cwnd_stamp = w.now;
            return;
        }
        o.cwnd_used = o.cwnd_used.max(w.packets_out);
        let starved_for = w.now - o.cwnd_stamp;
        if self.config.slow_start_after_idle
            && starved_for >= self.rtt.rto
            && !self.control.controls_all()
        {
            self.restrain_cwnd();
        }
        if self.send.write_seq == self.window.snd_nxt && self.send.no_space && self.can_send() {
            self.chrono.start(self.window.now, Limit::SendBuffer);
        }
    }

    /// The application did not use the window for an RTO: come half way down (`tcp_cwnd_application_limited`).
    fn restrain_cwnd(&mut self) {
        let w = &mut self.window;
        if w.state == CaState::Open && !self.send.no_space {
            let used = self.output.cwnd_used.max(w.initial_cwnd);
            if used < w.cwnd {
                w.ssthresh = w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2));
                w.cwnd = (w.cwnd + used) >> 1;
            }
            self.output.cwnd_used = 0;
        }
        self.output.cwnd_stamp = self.window.now;
    }

    /// Before new data after a pause: the window decays by half per RTO idle (RFC 2861).
    pub(super) fn restart_after_idle(&mut self) {
        if !self.config.slow_start_after_idle
            || self.window.packets_out > 0
            || self.control.controls_all()
        {
            return;
        }
        let mut idle = (self.window.now - self.window.last_sent).0;
        let rto = self.rtt.rto.0;
        if idle <= rto || self.window.last_sent.0 < i64::MIN >> 3 {
            return;
        }
        self.control
            .cwnd_event(&mut self.window, CwndEvent::CwndRestart);
        let w = &mut self.window;
        w.ssthresh = w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2));
        let floor = w.initial_cwnd.min(w.cwnd);
        idle -= rto;
        while idle > 0 && w.cwnd > floor {
            w.cwnd >>= 1;
            idle -= rto;
        }
        w.cwnd = w.cwnd.max(floor);
        self.output.cwnd_stamp = w.now;
        self.output.cwnd_used = 0;
    }

    /// The window is closed: one byte's worth of question (RFC 9293, section 3.8.6.1), backed off.
    pub(super) fn probe_zero_window(&mut self, out: &mut Outbox) {
        if self.window.packets_out > 0 || !self.has_unsent() {
            self.timers.backoff = 0;
            return;
        }
        if self.next_fits_window() {
            self.push(out);
            return;
        }
        // As Linux: a segment below the window, whose ACK brings the window.
        let seq = self.window.snd_una.saturating_sub(1);
        let packet = self.packet(flag::ACK, seq);
        self.transmit(packet, out);
        self.output.probes_out += 1;
        self.timers.backoff = (self.timers.backoff + 1).min(16);
        let after = self.backed_off_rto();
        self.timers.arm(Retransmit::Probe, self.window.now, after);
    }
}
