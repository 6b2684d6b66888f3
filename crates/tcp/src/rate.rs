//! Delivery rate (draft-cheng-iccrg-delivery-rate-estimation, `net/ipv4/tcp_rate.c`).

use crate::congestion::{AckSample, Window};
use crate::scoreboard::{APP_LIMITED, EVER_RETRANS, RATED, RETRANS, Sent};
use bentpipe_base::time::{Nanos, Time};

#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    /// Send time of the segment most recently delivered (`first_tx_mstamp`).
    pub first_sent_at: Time,
    pub delivered: i64,
    pub interval: Nanos,
    pub app_limited: bool,
}

impl Rate {
    /// Notes in a segment what was delivered when it is sent. Call before it counts as out.
    pub fn sent(&mut self, window: &mut Window, segment: &mut Sent) {
        if window.packets_out == 0 {
            self.first_sent_at = window.now;
            window.view.delivered_at = window.now;
        }
        segment.first_sent_at = self.first_sent_at;
        segment.delivered_at = window.delivered_at;
        segment.delivered = window.delivered;
        segment.delivered_ce = window.delivered_ce;
        segment.prior_lost = window.lost;
        segment.in_flight = window.in_flight() + 1;
        segment.flags &= !(APP_LIMITED | RATED);
        if window.app_limited != 0 {
            segment.flags |= APP_LIMITED;
        }
    }

    /// A segment was (s)acked: the newest sent gives the sample.
    pub fn delivered(&mut self, segment: &mut Sent, sample: &mut AckSample) {
        if segment.is(RATED) {
            return;
        }
        segment.flags |= RATED;
        let newer = (segment.sent_at, segment.end()) > (self.first_sent_at, sample.last_end_seq);
        if sample.prior_delivered == 0 || newer {
            sample.prior_delivered = segment.delivered;
            sample.prior_delivered_ce = segment.delivered_ce;
            sample.prior_delivered_at = segment.delivered_at;
            sample.is_app_limited = segment.is(APP_LIMITED);
            sample.is_retrans = segment.is(RETRANS | EVER_RETRANS);
            sample.last_end_seq = segment.end();
            sample.sent_in_flight = segment.in_flight;
            sample.prior_lost = segment.prior_lost;
            self.first_sent_at = segment.sent_at;
            sample.send_interval = segment.sent_at - segment.first_sent_at;
        }
    }

    /// Completes the sample at the ACK's end.
    pub fn complete(&mut self, window: &mut Window, sample: &mut AckSample, reneged: bool) {
        if window.app_limited != 0 && window.delivered > window.app_limited {
            window.app_limited = 0;
        }
        if sample.acked_sacked > 0 {
            window.view.delivered_at = window.now;
        }
        sample.ack_interval = window.now - sample.prior_delivered_at;
        if sample.prior_delivered == 0 || reneged {
            sample.delivered = -1;
            sample.interval = Nanos(-1);
            return;
        }
        sample.delivered = (window.delivered - sample.prior_delivered) as i64;
        sample.delivered_ce = (window.delivered_ce - sample.prior_delivered_ce) as i64;
        sample.interval = sample.send_interval.max(sample.ack_interval);
        if window.min_rtt.is_none_or(|least| sample.interval < least) {
            sample.interval = Nanos(-1);
            return;
        }
        let faster = i128::from(sample.delivered) * i128::from(self.interval.0)
            >= i128::from(self.delivered) * i128::from(sample.interval.0);
        if !sample.is_app_limited || faster {
            self.delivered = sample.delivered;
            self.interval = sample.interval;
            self.app_limited = sample.is_app_limited;
        }
    }

    /// Bytes per second of the last sample that counts.
    pub fn bytes_per_second(&self, mss: u32) -> u64 {
        if self.interval.0 <= 0 {
            return 0;
        }
        (i128::from(self.delivered) * i128::from(mss) * 1_000_000_000 / i128::from(self.interval.0))
            as u64
    }
}
