//! How much new data may leave at once: Nagle with Minshall's change, silly-window avoidance, and whether a burst waits for
//! the next ACK to become fuller.

use crate::congestion::{CaState, View};
use bentpipe_base::time::{Nanos, Time};

const MILLISECOND: Nanos = Nanos::from_millis(1);

#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub advertised_mss: u32,
    pub ip_header: u32,
    pub fin_seq: Option<u64>,
    /// Send CWR with the next new data (RFC 3168, section 6.1.2).
    pub announce_cwr: bool,
    /// End of the last segment smaller than full.
    pub small_end: u64,
    /// False after `TCP_NODELAY`.
    pub nagle: bool,
}

/// What limits a burst, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub unsent: u64,
    /// Left of cwnd.
    pub cwnd: u64,
    /// Left of the peer's window, and that window.
    pub window: u64,
    pub whole_window: u64,
    /// A full burst.
    pub burst: u64,
}

/// Why a burst waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferred {
    ByCwnd,
    ByWindow,
}

impl Output {
    pub fn new(advertised_mss: u32, ip_header: u32, nagle: bool) -> Self {
        Self {
            advertised_mss,
            ip_header,
            fin_seq: None,
            announce_cwr: false,
            small_end: 0,
            nagle,
        }
    }

    /// Nagle with Minshall's change: a small segment waits while another small one is unacknowledged.
    pub fn holds_small_segment(&self, w: &View) -> bool {
        self.nagle && w.packets_out > 0 && self.small_end > w.snd_una && self.small_end <= w.snd_nxt
    }
}

/// Payload of the next burst of at most `quota` segments. Silly-window avoidance: part of a segment leaves only as the last of the
/// data, and only where small segments are `allowed`.
pub fn burst_bytes(
    unsent: u64,
    quota: u64,
    window: u64,
    mss: u64,
    allowed: impl FnOnce() -> bool,
) -> u64 {
    let mut bytes = unsent.min(quota * mss).min(window.max(1));
    if bytes < unsent && bytes >= mss {
        bytes -= bytes % mss;
    }
    let whole = bytes - bytes % mss;
    if bytes > whole && whole > 0 && !allowed() {
        bytes = whole;
    }
    bytes
}

/// Whether a burst waits for the next ACK, if that would make it fuller (`tcp_tso_should_defer`). `head_sent_at` is when the oldest
/// segment in flight left.
pub fn defers(w: &View, cwnd: u32, room: Room, head_sent_at: Option<Time>) -> Option<Deferred> {
    if w.state >= CaState::Recovery || w.now - w.next_departure > MILLISECOND {
        return None;
    }
    let limit = room.window.min(room.cwnd);
    if limit >= room.burst || limit >= room.unsent {
        return None;
    }
    let chunk = room.whole_window.min(u64::from(cwnd) * u64::from(w.mss)) / 3;
    if limit >= chunk {
        return None;
    }
    // Worth waiting for only if the head's ACK is expected very soon, or overdue (since Linux 6.18; before, half an srtt
    // after the head had left was soon enough).
    let expected_in = head_sent_at? + w.srtt - w.now;
    if expected_in > MILLISECOND.min(Nanos(w.srtt.0 >> 1)) {
        return None;
    }
    Some(if room.cwnd < room.window {
        Deferred::ByCwnd
    } else {
        Deferred::ByWindow
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Window;

    #[test]
    fn a_small_segment_waits_for_the_small_one_before_it() {
        let mut output = Output::new(1460, 20, true);
        let mut w = Window::new(10, 1);
        w.view.snd_una = 1;
        w.view.snd_nxt = 1549;
        w.view.packets_out = 2;
        assert!(!output.holds_small_segment(&w), "only full ones are out");
        output.small_end = 1549;
        assert!(output.holds_small_segment(&w));
        w.view.snd_una = 1549;
        w.view.packets_out = 0;
        assert!(!output.holds_small_segment(&w), "acknowledged");
    }

    #[test]
    fn part_of_a_segment_leaves_only_as_the_last_of_the_data() {
        let bytes =
            |unsent, quota, window, allowed| burst_bytes(unsent, quota, window, 1000, || allowed);
        assert_eq!(bytes(9500, 4, 100_000, true), 4000, "cwnd");
        assert_eq!(bytes(9500, 40, 3700, true), 3000, "the peer's window");
        assert_eq!(bytes(9500, 40, 100_000, true), 9500);
        assert_eq!(bytes(9500, 40, 100_000, false), 9000, "Nagle");
        assert_eq!(bytes(500, 40, 100_000, false), 500, "asked before");
        assert_eq!(bytes(9500, 40, 700, true), 700, "a window below a segment");
        assert_eq!(bytes(0, 1, 0, true), 0, "a FIN alone");
    }

    #[test]
    fn a_burst_waits_in_the_last_millisecond_before_the_ack_that_fills_it() {
        let mut w = Window::new(10, 1);
        w.cwnd = 90;
        w.view.mss = 1000;
        w.view.srtt = Nanos::from_millis(100);
        w.view.now = Time(1_000_000_000);
        w.view.next_departure = w.now;
        let room = Room {
            unsent: 500_000,
            cwnd: 5000,
            window: 400_000,
            whole_window: 900_000,
            burst: 45_000,
        };
        let after = |w: &Window, room, ms: i64| {
            let sent_at = Time(w.now.0 - ms * 1_000_000);
            defers(w, w.cwnd, room, Some(sent_at))
        };
        assert_eq!(after(&w, room, 98), None, "2 ms before");
        assert_eq!(after(&w, room, 99), Some(Deferred::ByCwnd));
        assert_eq!(after(&w, room, 500), Some(Deferred::ByCwnd), "overdue");
        assert_eq!(defers(&w, 90, room, None), None, "nothing is out");
        let closing = Room {
            window: 4000,
            ..room
        };
        assert_eq!(after(&w, closing, 99), Some(Deferred::ByWindow));
        let third = Room {
            cwnd: 30_000,
            ..room
        };
        assert_eq!(after(&w, third, 99), None, "a third of the window");
        w.view.state = CaState::Recovery;
        assert_eq!(after(&w, room, 99), None);
    }
}
