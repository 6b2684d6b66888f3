//! Where a sender's time goes: busy, limited by the receive window, limited by the send buffer (`tcp_chrono_*`,
//! net/ipv4/tcp.c). Exact to the nanosecond, where the kernel's clocks tick in jiffies.

use bentpipe_base::time::{Nanos, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    #[default]
    Idle,
    Busy,
    ReceiveWindow,
    SendBuffer,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Chrono {
    current: Limit,
    since: Time,
    spent: [i64; 4],
}

impl Chrono {
    fn switch(&mut self, now: Time, to: Limit) {
        self.spent[self.current as usize] += (now - self.since).0;
        self.current = to;
        self.since = now;
    }

    pub fn start(&mut self, now: Time, limit: Limit) {
        if limit > self.current {
            self.switch(now, limit);
        }
    }

    /// `empty`: nothing is queued or in flight any more.
    pub fn stop(&mut self, now: Time, limit: Limit, empty: bool) {
        if empty {
            self.switch(now, Limit::Idle);
        } else if self.current == limit {
            self.switch(now, Limit::Busy);
        }
    }

    fn total(&self, now: Time, limit: Limit) -> Nanos {
        let running = if self.current == limit {
            (now - self.since).0
        } else {
            0
        };
        Nanos(self.spent[limit as usize] + running)
    }

    /// Busy (which contains the other two), limited by the receive window, limited by the send buffer.
    pub fn totals(&self, now: Time) -> [Nanos; 3] {
        let receive = self.total(now, Limit::ReceiveWindow);
        let send = self.total(now, Limit::SendBuffer);
        [self.total(now, Limit::Busy) + receive + send, receive, send]
    }

    /// Which of the [`totals`](Self::totals) grow with time.
    pub fn growing(&self) -> [bool; 3] {
        [Limit::Idle, Limit::ReceiveWindow, Limit::SendBuffer]
            .map(|limit| (self.current == limit) != (limit == Limit::Idle))
    }
}
