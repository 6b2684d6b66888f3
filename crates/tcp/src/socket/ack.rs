//! An arriving acknowledgement, from the window it carries to what may be sent after it (`tcp_ack`, `net/ipv4/tcp_input.c`).

use super::Socket;
use crate::ack_context::{AckContext, Flags, Resend};
use crate::congestion::{AckSample, CaState};
use crate::outbox::{Notice, Outbox};
use crate::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED};
use crate::segment::{Segment, flag};
use crate::timers::Retransmit;
use bentpipe_base::time::Nanos;

impl Socket {
    pub(super) fn on_ack(&mut self, packet: &Segment, out: &mut Outbox) {
        if !packet.has(flag::ACK) || packet.ack > self.window.snd_nxt {
            return;
        }
        let ack = packet.ack;
        let prior_snd_una = self.window.snd_una;
        let mut context = AckContext {
            flags: Flags::default(),
            sample: AckSample {
                prior_in_flight: self.window.in_flight(),
                prior_snd_una,
                interval: Nanos(-1),
                ..AckSample::default()
            },
            prior_snd_una,
            prior_highest: self.board.highest_sacked().unwrap_or(prior_snd_una),
            reordered_from: u64::MAX,
            first_sacked_at: None,
            last_sacked_at: None,
        };
        if ack >= prior_snd_una {
            self.note_timestamp(packet);
        }
        let delivered = self.window.delivered;
        let lost = self.window.lost;
        if ack < prior_snd_una {
            // Old: only its SACK blocks may say something new.
            if self.agreed.sack && !packet.sack.is_empty() {
                self.on_sack_blocks(packet, &mut context);
                let resend = self.react(&mut context, 0);
                self.window.view.delivered_at = if self.window.delivered > delivered {
                    self.window.now
                } else {
                    self.window.delivered_at
                };
                self.resend(resend, out);
            }
            return;
        }
        context.flags.data = packet.payload > 0 || packet.has(flag::FIN);
        context.flags.window_updated = self.peer.update(packet, self.window.snd_una);
        if ack > prior_snd_una {
            context.flags.advanced = true;
            self.retransmits = 0;
            self.window.view.snd_una = ack;
        }
        if self.agreed.ecn && packet.has(flag::ECE) {
            context.flags.ece = true;
        }
        context.sample.is_ece = context.flags.ece;
        if self.window.packets_out == 0 {
            self.on_ack_without_flight(packet, &mut context, delivered, out);
            return;
        }
        if self.agreed.sack && !packet.sack.is_empty() {
            self.on_sack_blocks(packet, &mut context);
        }
        self.clean_queue(packet, &mut context);
        let sample = context.sample;
        self.rack.adapt(&sample, self.window.delivered);
        self.on_ack_of_probe(ack, &context.flags);
        let flags = context.flags;
        let mut resend = Resend::None;
        if !flags.is_not_duplicate() || flags.alerts() || self.window.state != CaState::Open {
            let duplicate = !(flags.advanced || flags.is_not_duplicate() || flags.dsack);
            resend = self.react(
                &mut context,
                u32::from(duplicate) * u32::from(packet.segments.max(1)),
            );
        }
        if context.flags.set_timer {
            self.set_retransmit_timer();
        }
        let acked_sacked = (self.window.delivered - delivered) as u32;
        if context.flags.ece {
            self.window.view.delivered_ce += u64::from(acked_sacked);
        }
        context.sample.acked_sacked = acked_sacked;
        context.sample.losses = (self.window.lost - lost) as u32;
        context.sample.is_ack_delayed = context.flags.maybe_delayed;
        let reneged = self.reneged;
        self.rate
            .complete(&mut self.window, &mut context.sample, reneged);
        self.control_window(&context);
        self.resend(resend, out);
        if self.window.packets_out == 0 && self.send.is_drained(self.window.snd_nxt) {
            self.stop_chrono(crate::chrono::Limit::Busy);
            if self.send.take_drained() {
                out.notices.push(Notice::Drained);
            }
        }
    }

    /// An ACK when nothing is out: a window update, an answer to a zero-window probe, or a DSACK.
    fn on_ack_without_flight(
        &mut self,
        packet: &Segment,
        context: &mut AckContext,
        delivered: u64,
        out: &mut Outbox,
    ) {
        if self.agreed.sack && !packet.sack.is_empty() {
            self.on_sack_blocks(packet, context);
            if context.flags.dsack {
                let resend = self.react(context, 0);
                self.resend(resend, out);
            }
        }
        if self.window.delivered > delivered {
            self.window.view.delivered_at = self.window.now;
        }
        if self.timers.pending() == Some(Retransmit::Probe) {
            if self.next_fits_window() {
                self.timers.backoff = 0;
                self.timers.clear_retransmit();
            } else {
                let after = self.backed_off_rto();
                self.timers.arm(Retransmit::Probe, self.window.now, after);
            }
        }
        self.on_ack_of_probe(packet.ack, &context.flags);
    }

    /// RFC 7323, section 4.3: the value to echo is that of the segment the last ACK sent answers.
    fn note_timestamp(&mut self, packet: &Segment) {
        if let Some((value, _)) = packet.timestamps
            && packet.seq <= self.receiver.rcv_wup
        {
            self.timestamps.take(value);
        }
    }

    /// Removes what is cumulatively acknowledged and takes the RTT (`tcp_clean_rtx_queue`).
    fn clean_queue(&mut self, packet: &Segment, context: &mut AckContext) {
        let ack = packet.ack;
        let now = self.window.now;
        let mut first_at = None;
        let mut last_at = now;
        let mut acked = 0_u32;
        let mut low = u64::MAX;
        let prior_sacked = self.window.sacked_out;
        while let Some(mut segment) = self.board.pop_acked(ack) {
            acked += 1;
            self.window.view.packets_out -= 1;
            self.send.segment_freed(&segment);
            if segment.is(RETRANS) {
                self.window.view.retrans_out -= 1;
            }
            if segment.is(RETRANS | EVER_RETRANS) {
                context.flags.retransmitted_acked = true;
            } else {
                context.flags.data_acked = true;
                if !segment.is(SACKED) {
                    first_at.get_or_insert(segment.sent_at);
                    last_at = segment.sent_at;
                    low = low.min(segment.seq);
                    if segment.end() <= self.window.high_seq {
                        context.flags.original_acked = true;
                    }
                }
            }
            if segment.is(SACKED) {
                self.window.view.sacked_out -= 1;
            } else if self.agreed.sack {
                self.window.view.delivered += 1;
                if !self.spuriously_retransmitted(&segment) {
                    let again = segment.is(RETRANS | EVER_RETRANS);
                    let (sent_at, end) = (segment.sent_at, segment.end());
                    self.rack
                        .advance(now, self.window.min_rtt, sent_at, end, again);
                }
            }
            if segment.is(LOST) {
                self.window.view.lost_out -= 1;
            }
            self.rate.delivered(&mut segment, &mut context.sample);
        }
        let mut ca_rtt = None;
        let mut seq_rtt = None;
        if let Some(first) = first_at
            && !context.flags.retransmitted_acked
        {
            seq_rtt = Some(now - first);
            ca_rtt = Some(now - last_at);
            // A lone runt over the whole round trip, to a receiver that had nothing else to report at once.
            let covered = ack - context.prior_snd_una;
            context.flags.maybe_delayed = acked == 1
                && prior_sacked == 0
                && covered < u64::from(self.window.mss)
                && context.sample.prior_delivered + 1 == self.window.delivered
                && !context.flags.alerts();
        }
        if let (Some(first), Some(last)) = (context.first_sacked_at, context.last_sacked_at) {
            seq_rtt = seq_rtt.or(Some(now - first));
            ca_rtt = Some(now - last);
        }
        let sack_rtt = context.first_sacked_at.map(|at| now - at);
        if seq_rtt.is_none() && acked > 0 && self.agreed.timestamps && self.timestamps.echoed != 0 {
            // Karn's rule with timestamps: the echo tells which transmission was answered.
            seq_rtt = self.timestamps.since_echoed(now);
            ca_rtt = seq_rtt;
        }
        self.take_rtt(context, seq_rtt, ca_rtt);
        if acked > 0 {
            context.flags.set_timer = true;
            if !self.agreed.sack {
                self.remove_reno_sacks(acked);
                // Without SACK the progress may be all the retransmission's.
                context.flags.original_acked &= !context.flags.retransmitted_acked;
            } else if low < context.prior_highest {
                self.check_reordering(low);
            }
        } else if let (Some(rtt), Some(head)) = (sack_rtt, self.board.head())
            && rtt > now - head.sent_at
        {
            context.flags.set_timer = true;
        }
        if acked > 0 || context.flags.data_sacked {
            self.control.packets_acked(&mut self.window, acked, ca_rtt);
        }
    }

    fn take_rtt(
        &mut self,
        context: &mut AckContext,
        seq_rtt: Option<Nanos>,
        ca_rtt: Option<Nanos>,
    ) {
        context.sample.rtt = ca_rtt;
        let Some(rtt) = seq_rtt else { return };
        let now = self.window.now;
        if let Some(latest) = ca_rtt {
            let delayed = context.flags.maybe_delayed
                && self.rtt.minimum().is_some_and(|least| latest > least);
            if !delayed {
                self.rtt.sample_minimum(now, latest);
            }
        }
        self.rtt
            .sample(rtt, self.window.snd_una, self.window.snd_nxt);
        self.window.view.srtt = self.rtt.srtt();
        self.window.view.min_rtt = self.rtt.minimum();
        self.timers.backoff = 0;
    }

    /// The cwnd's turn (`tcp_cong_control`).
    fn control_window(&mut self, context: &AckContext) {
        if self.control.controls_all() {
            self.control.cong_control(&mut self.window, &context.sample);
            return;
        }
        let flags = &context.flags;
        // Where reordering is seen, SACKed data too is progress (`tcp_may_raise_cwnd`).
        let progress = if self.window.reordering > 3 {
            flags.forward_progress()
        } else {
            flags.data_acked || flags.retransmitted_acked
        };
        if matches!(self.window.state, CaState::Cwr | CaState::Recovery) {
            let AckSample {
                acked_sacked,
                losses,
                ..
            } = context.sample;
            self.reduce_cwnd(acked_sacked, losses, flags.advanced);
        } else if progress {
            let acked = context.sample.acked_sacked;
            self.control.cong_avoid(&mut self.window, acked);
            self.usage.window_changed(self.window.now);
        }
        self.update_pacing_rate();
    }

    /// After an arriving segment: send what the window allows, and wake the writer (`tcp_data_snd_check`).
    pub(super) fn after_ack(&mut self, out: &mut Outbox) {
        if self.can_send() || self.output.fin_seq.is_some() {
            self.push(out);
            self.check_space();
        }
    }
}
