//! Proportional rate reduction (RFC 6937bis): how cwnd comes down to ssthresh during recovery.

use crate::congestion::Window;

#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// Segments delivered and sent since the reduction began (`prr_delivered`, `prr_out`).
    delivered: u32,
    out: u32,
}

impl Prr {
    /// So many segments left, new ones or again.
    pub fn sent(&mut self, segments: u32) {
        self.out += segments;
    }

    /// cwnd after an ACK that delivered so many segments and showed so many lost (section 5). `advanced`: the ACK is
    /// cumulative. `None` where nothing was delivered: cwnd stays.
    pub fn cwnd(
        &mut self,
        w: &Window,
        delivered: u32,
        newly_lost: u32,
        advanced: bool,
    ) -> Option<u32> {
        if delivered == 0 || w.prior_cwnd == 0 {
            return None;
        }
        self.delivered += delivered;
        let pipe = i64::from(w.in_flight());
        let room = i64::from(w.ssthresh) - pipe;
        let mut count = if room < 0 {
            let target = (u64::from(w.ssthresh) * u64::from(self.delivered))
                .div_ceil(u64::from(w.prior_cwnd));
            target as i64 - i64::from(self.out)
        } else {
            let mut count =
                (i64::from(self.delivered) - i64::from(self.out)).max(i64::from(delivered));
            if advanced && newly_lost == 0 {
                count += 1;
            }
            count.min(room)
        };
        // The first retransmission of a recovery always leaves.
        count = count.max(i64::from(self.out == 0));
        Some((pipe + count).max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reduction from 20 segments to 10.
    fn halved(in_flight: u32) -> Window {
        let mut window = Window::new(10, 1);
        window.ssthresh = 10;
        window.view.prior_cwnd = 20;
        window.view.packets_out = in_flight;
        window
    }

    #[test]
    fn while_more_than_ssthresh_is_out_every_second_delivery_sends_one() {
        let mut prr = Prr::default();
        let mut window = halved(19);
        let mut sent = 0;
        for _ in 0..8 {
            window.view.packets_out -= 1;
            let cwnd = prr.cwnd(&window, 1, 0, false).expect("delivered");
            let leaves = cwnd.saturating_sub(window.in_flight());
            prr.sent(leaves);
            window.view.packets_out += leaves;
            sent += leaves;
        }
        assert_eq!(sent, 4);
    }

    #[test]
    fn below_ssthresh_progress_without_loss_grows_and_new_loss_only_conserves() {
        for (newly_lost, advanced, grows) in [(0, true, 3), (0, false, 2), (1, true, 2)] {
            let mut prr = Prr::default();
            let cwnd = prr.cwnd(&halved(4), 2, newly_lost, advanced);
            assert_eq!(cwnd, Some(4 + grows), "{newly_lost} {advanced}");
        }
        let near = Prr::default().cwnd(&halved(9), 5, 0, true);
        assert_eq!(near, Some(10), "not above ssthresh");
    }

    #[test]
    fn the_first_segment_of_a_recovery_leaves_even_where_the_pipe_is_too_full() {
        let mut window = halved(40);
        window.ssthresh = 1;
        window.view.prior_cwnd = 1000;
        let mut prr = Prr::default();
        assert_eq!(prr.cwnd(&window, 1, 0, false), Some(41));
        prr.sent(1);
        assert_eq!(prr.cwnd(&window, 1, 0, false), Some(40));
    }

    #[test]
    fn an_ack_that_delivers_nothing_leaves_cwnd_alone() {
        assert_eq!(Prr::default().cwnd(&halved(9), 0, 3, false), None);
    }
}
