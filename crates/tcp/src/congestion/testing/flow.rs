//! A sender with endless data, a bottleneck with a queue, and one ACK per segment. What the queue drops is known to be lost at
//! the next ACK, and new data goes in its place. A reduction takes cwnd to ssthresh at once.

use super::window;
use crate::congestion::{AckSample, CaState, CongestionControl, CwndEvent, LostSegment, Window};
use bentpipe_base::time::{Nanos, Time};
use std::collections::VecDeque;

#[derive(Debug)]
struct Sent {
    number: u64,
    /// When its ACK comes; `None` if the queue drops it.
    acked_at: Option<Time>,
    at: Time,
    first_sent_at: Time,
    delivered_at: Time,
    delivered: u64,
    lost: u64,
    in_flight: u32,
    app_limited: bool,
}

/// One sender under the control of `C`.
#[derive(Debug)]
pub struct Flow<C> {
    pub control: C,
    pub window: Window,
    /// Time per segment at the bottleneck.
    pub per_segment: Nanos,
    /// The RTT without queue.
    pub rtt: Nanos,
    /// Segments that the queue holds.
    pub queue: i64,
    free_at: Time,
    first_sent_at: Time,
    next_number: u64,
    recovery_end: u64,
    sent: VecDeque<Sent>,
}

impl<C: CongestionControl> Flow<C> {
    /// With a window of ten segments, at time zero.
    pub fn new(mut control: C, segments_per_s: i64, rtt: Nanos, queue: i64) -> Self {
        let mut window = window(10, rtt);
        window.view.packets_out = 0;
        window.view.snd_nxt = 0;
        window.view.max_packets_out = 0;
        control.init(&mut window);
        Self {
            control,
            window,
            per_segment: Nanos(1_000_000_000 / segments_per_s),
            rtt,
            queue,
            free_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            next_number: 0,
            recovery_end: 0,
            sent: VecDeque::new(),
        }
    }

    /// Runs until `end`, showing the flow after every ACK.
    pub fn run_until(&mut self, end: Time, mut after_ack: impl FnMut(&Self)) {
        loop {
            let next_ack = self
                .sent
                .iter()
                .find_map(|sent| sent.acked_at)
                .unwrap_or(Time::NEVER);
            let may_send = self.window.in_flight() < self.window.cwnd;
            let next_send = if may_send {
                self.window.next_departure.max(self.window.now)
            } else {
                Time::NEVER
            };
            let next = next_ack.min(next_send);
            if next > end {
                self.window.view.now = end;
                return;
            }
            self.window.view.now = next;
            if next_ack <= next_send {
                self.acknowledge();
                after_ack(self);
            } else {
                self.send();
            }
        }
    }

    fn send(&mut self) {
        let w = &mut self.window;
        if w.packets_out == 0 {
            self.control.cwnd_event(w, CwndEvent::TxStart);
            self.first_sent_at = w.now;
            w.view.delivered_at = w.now;
        }
        let start = self.free_at.max(w.now);
        let dropped = (start - w.now).0 / self.per_segment.0 >= self.queue;
        if !dropped {
            self.free_at = start + self.per_segment;
        }
        w.view.packets_out += 1;
        self.sent.push_back(Sent {
            number: self.next_number,
            acked_at: (!dropped).then(|| self.free_at + self.rtt),
            at: w.now,
            first_sent_at: self.first_sent_at,
            delivered_at: w.delivered_at,
            delivered: w.delivered,
            lost: w.lost,
            in_flight: w.in_flight(),
            app_limited: w.app_limited > 0,
        });
        self.next_number += 1;
        w.view.snd_nxt = self.next_number * u64::from(w.mss);
        w.view.max_packets_out = w.packets_out;
        w.view.cwnd_limited = w.in_flight() >= w.cwnd;
        if self.control.paces()
            && let Some(rate) = w.pacing_rate
        {
            let gap = (u64::from(w.mss) * 1_000_000_000).div_ceil(rate.max(1));
            w.view.next_departure = w.next_departure.max(w.now) + Nanos(gap as i64);
        }
        w.view.last_sent = w.now;
    }

    fn acknowledge(&mut self) {
        let prior_in_flight = self.window.in_flight();
        let mut losses = 0;
        while self
            .sent
            .front()
            .is_some_and(|sent| sent.acked_at.is_none())
        {
            let Some(lost) = self.sent.pop_front() else {
                break;
            };
            losses += 1;
            self.window.view.packets_out -= 1;
            self.window.view.lost += 1;
            let segment = LostSegment {
                sent_in_flight: lost.in_flight,
                prior_lost: lost.lost,
                prior_delivered: lost.delivered,
                app_limited: lost.app_limited,
            };
            self.control.segment_lost(&mut self.window, &segment);
        }
        let Some(sent) = self.sent.pop_front() else {
            return;
        };
        let w = &mut self.window;
        w.view.packets_out -= 1;
        w.view.snd_una = (sent.number + 1) * u64::from(w.mss);
        w.view.delivered += 1;
        w.view.delivered_at = w.now;
        if w.app_limited > 0 && w.delivered > w.app_limited {
            w.app_limited = 0;
        }
        self.first_sent_at = sent.at;
        let ack_interval = w.now - sent.delivered_at;
        let send_interval = sent.at - sent.first_sent_at;
        if losses > 0 && w.state == CaState::Open {
            w.view.prior_cwnd = w.cwnd;
            w.view.high_seq = w.snd_nxt;
            w.cwnd_count = 0;
            w.ssthresh = self.control.ssthresh(w);
            if !self.control.controls_all() {
                w.cwnd = w.ssthresh;
            }
            self.control.set_state(w, CaState::Recovery);
            w.view.state = CaState::Recovery;
            self.recovery_end = self.next_number;
        } else if w.state == CaState::Recovery && sent.number >= self.recovery_end {
            if !self.control.controls_all() {
                self.control.cwnd_event(w, CwndEvent::CompleteCwr);
            }
            self.control.set_state(w, CaState::Open);
            w.view.state = CaState::Open;
        }
        let rtt = w.now - sent.at;
        w.view.srtt = Nanos((w.srtt.0 * 7 + rtt.0) / 8);
        w.view.min_rtt = Some(w.min_rtt.map_or(rtt, |least| least.min(rtt)));
        let sample = AckSample {
            prior_delivered_at: sent.delivered_at,
            prior_delivered: sent.delivered,
            delivered: (w.delivered - sent.delivered) as i64,
            interval: ack_interval.max(send_interval),
            send_interval,
            ack_interval,
            rtt: Some(rtt),
            losses,
            acked_sacked: 1,
            prior_in_flight,
            sent_in_flight: sent.in_flight,
            prior_lost: sent.lost,
            is_app_limited: sent.app_limited,
            ..AckSample::default()
        };
        self.control.packets_acked(w, 1, Some(rtt));
        if self.control.controls_all() {
            self.control.cong_control(w, &sample);
        } else {
            if w.state == CaState::Open {
                self.control.cong_avoid(w, 1);
            }
            let percent = self.control.pacing_percent(w);
            w.pace(percent);
        }
    }
}
