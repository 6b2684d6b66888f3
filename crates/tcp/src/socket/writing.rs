//! The application writes: at once, when its thread is woken because there is space, and before the connection stands.
//!
//! 1. Writing takes no time: no ACK arrives between two blocks of a turn, as some do while a processor copies.

use super::Socket;
use crate::chrono::Limit;
use crate::outbox::Outbox;
use crate::send_buffer::Writer;

impl Socket {
    pub fn set_writer(&mut self, writer: Writer) {
        self.send.writer = writer;
    }

    /// `TCP_NODELAY`: from now on a small segment does not wait for the ACK of another one.
    pub fn set_nodelay(&mut self) {
        self.output.nagle = false;
    }

    fn burst_payload(&self) -> u64 {
        self.send.burst_payload(self.window.mss, self.peer.largest)
    }

    /// Memory in use (`sk_wmem_queued`).
    pub(super) fn queued_memory(&self) -> u64 {
        self.send.queued_memory(&self.window, self.burst_payload())
    }

    pub(super) fn unsent(&self) -> u64 {
        self.send.unsent(&self.window)
    }

    /// The application writes a block, or the rest of one, until it is in or the buffer is full.
    fn fill(&mut self, block: u64, out: &mut Outbox) {
        if self.unsent() < u64::from(self.window.mss)
            && self.window.in_flight() < self.window.cwnd
            && self.window.lost_out <= self.window.retrans_out
        {
            // The bubble in the pipe until this data has passed is the application's, not the network's.
            self.window.app_limited =
                (self.window.delivered + u64::from(self.window.in_flight())).max(1);
        }
        self.restart_after_idle();
        let unit = self.burst_payload();
        let overhead = u64::from(self.config.memory.sent_overhead);
        let mut used = self.queued_memory();
        let mut tail = self.unsent() % unit;
        let whole = if self.send.rest > 0 {
            self.send.rest
        } else {
            block
        };
        let mut left = self.send.offered.min(whole);
        while left > 0 {
            if tail == 0 {
                if used >= self.send.sndbuf {
                    self.send.no_space = true;
                    break;
                }
                used += overhead;
            }
            let bytes = left.min(unit - tail);
            left -= bytes;
            self.send.offered -= bytes;
            self.send.write_seq += bytes;
            used += bytes;
            tail = (tail + bytes) % unit;
            if tail == 0 && self.unsent() == unit {
                // The only buffer leaves as far as a burst goes (`tcp_push_one`). What stays behind takes more without a question
                // about memory, so where bursts are small a writer goes on until cwnd is full.
                self.send_new(1, false, out);
                tail = self.unsent() % unit;
                used = self.queued_memory();
            }
        }
        // A write without an end, as sendfile(2) below `TCP_CORK`, takes what is offered later, too.
        self.send.rest = if block == u64::MAX { 0 } else { left };
        self.send.drain_due = true;
        self.chrono.start(self.window.now, Limit::Busy);
    }

    pub(super) fn fill_and_push(&mut self, out: &mut Outbox) {
        self.send.no_space = false;
        self.timers.writer = None;
        let (block, blocks) = match self.send.writer {
            Writer::UntilFull { block } => (block, 1),
            Writer::Turns { block, blocks } => (block, blocks),
        };
        if self.send.offered == 0 {
            self.push(out);
        }
        while self.send.offered > 0 && !self.send.no_space {
            for _ in 0..blocks {
                if self.send.offered > 0 && !self.send.no_space {
                    self.fill(block, out);
                    self.push(out);
                }
            }
            // Asked whether it may go on, the socket notes who waits.
            if let Writer::Turns { .. } = self.send.writer {
                self.send.no_space |= self.send.offered > 0 && !self.is_writable();
            }
        }
    }

    fn is_writable(&self) -> bool {
        self.send.is_writable(&self.window, self.burst_payload())
    }

    /// After an ACK freed space: grow the buffer if cwnd found it too small, and wake the writer if a third is free
    /// (`tcp_check_space`). A thread takes its time to run, as long as the host to look at what arrived.
    pub(super) fn check_space(&mut self) {
        if !self.send.no_space || !self.can_send() {
            return;
        }
        if self.window.in_flight() < self.window.cwnd {
            self.expand_send_buffer();
            self.usage.window_changed(self.window.now);
        }
        if self.is_writable() {
            self.send.no_space = false;
            self.stop_chrono(Limit::SendBuffer);
            self.timers.writer = Some(self.window.now + self.config.wakeup_ns);
        }
    }

    /// The writer's thread runs: ACKs may have freed more than what woke it.
    pub(super) fn writer_runs(&mut self, out: &mut Outbox) {
        if self.can_send() {
            self.fill_and_push(out);
        }
    }

    pub(super) fn expand_send_buffer(&mut self) {
        let mss = self.output.advertised_mss.max(self.window.mss);
        let windows = self.control.send_buffer_factor();
        let most = self.config.tcp_wmem[2];
        self.send
            .expand(&self.window, self.window.cwnd, windows, mss, most);
    }
}
