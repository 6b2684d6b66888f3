//! The send buffer: what the application offers moves in while there is room, and room grows with cwnd
//! (`tcp_sndbuf_expand`), within `tcp_wmem`. Memory counts as Linux counts it: payload plus a fixed overhead per buffer, and
//! the writer sleeps until a third of it is free (`sk_stream_is_writeable`).
//!
//! On a long path that the buffer limits, the writer sets the pace: whether it fills the buffer each time it wakes, or takes
//! less, decides into how many bursts a round trip falls, and with how many gaps.
//!
//! 1. Writing takes no time: no ACK arrives between two blocks of a turn, as some do while a processor copies.

use super::Socket;
use super::chrono::Limit;
use super::scoreboard::{BURST_HEAD, Sent};
use super::socket::Outbox;
use crate::config::Config;

/// What programs commonly write at once, such as curl with its upload buffer.
const BLOCK: u64 = 64 * 1024;

/// How the application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Until the buffer is full: a write(2) of so many bytes that blocks (`sk_stream_wait_memory`), or one that does not and
    /// is repeated until it would. Memory is asked for where a write finds nothing unsent, so a long write goes further
    /// beyond the buffer's size than many short ones.
    UntilFull { block: u64 },
    /// In turns, each begun when select(2) calls the socket writable (`tcp_poll`): so many blocks, fewer if the buffer is
    /// full before.
    Turns { block: u64, blocks: u32 },
}

impl Writer {
    /// sendfile(2) below `TCP_CORK`, as nginx sends an answer: part of a segment waits for more, so it is one long write.
    pub const SENDFILE: Self = Self::UntilFull { block: u64::MAX };
    /// curl sends a block of its upload buffer each time poll(2) calls the socket writable.
    pub const UPLOAD: Self = Self::Turns {
        block: BLOCK,
        blocks: 1,
    };
}

impl Default for Writer {
    fn default() -> Self {
        Self::UntilFull { block: BLOCK }
    }
}

#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent states of a writer"
)]
pub struct SendBuffer {
    /// Offered by the application, not yet in the buffer.
    pub offered: u64,
    /// End of what is in the buffer.
    pub write_seq: u64,
    pub closing: bool,
    pub sndbuf: u64,
    locked: bool,
    pub writer: Writer,
    /// The writer waits for space (`SOCK_NOSPACE`).
    pub no_space: bool,
    /// Buffers (bursts) sent and not yet acknowledged.
    pub buffers_out: u64,
    /// The peer's window in bytes, the segment it came with, and the largest ever.
    pub window_bytes: u64,
    pub window_seq: u64,
    pub max_window: u64,
    drain_due: bool,
}

impl SendBuffer {
    pub fn new(config: &Config) -> Self {
        Self {
            offered: 0,
            write_seq: 0,
            closing: false,
            sndbuf: config.sndbuf.unwrap_or(config.tcp_wmem[1]),
            locked: config.sndbuf.is_some(),
            writer: Writer::default(),
            no_space: false,
            buffers_out: 0,
            window_bytes: 0,
            window_seq: 0,
            max_window: 0,
            drain_due: false,
        }
    }

    pub fn segment_freed(&mut self, segment: &Sent) {
        if segment.is(BURST_HEAD) {
            self.buffers_out -= 1;
        }
    }

    pub fn is_drained(&self, snd_nxt: u64) -> bool {
        self.offered == 0 && self.write_seq <= snd_nxt
    }

    pub fn take_drained(&mut self) -> bool {
        core::mem::take(&mut self.drain_due)
    }
}

impl Socket {
    pub fn set_writer(&mut self, writer: Writer) {
        self.send.writer = writer;
    }

    /// Payload that one unsent buffer takes: a burst's worth, at most half the largest window (`tcp_send_mss`).
    fn buffer_payload(&self) -> u64 {
        let mss = u64::from(self.window.mss);
        let half = if self.send.max_window > 536 {
            self.send.max_window >> 1
        } else {
            self.send.max_window
        };
        let most = u64::from(self.config.memory.gso_bytes).min(half.max(68));
        (most / mss).max(1) * mss
    }

    /// Memory in use (`sk_wmem_queued`).
    pub(super) fn queued_memory(&self) -> u64 {
        let unsent = self.send.write_seq - self.window.snd_nxt.min(self.send.write_seq);
        let buffers = self.send.buffers_out + unsent.div_ceil(self.buffer_payload());
        let payload = self.send.write_seq - self.window.snd_una.min(self.send.write_seq);
        payload + buffers * u64::from(self.config.memory.sent_overhead)
    }

    pub(super) fn unsent(&self) -> u64 {
        self.send.write_seq - self.window.snd_nxt.min(self.send.write_seq)
    }

    /// The application writes, until `most` bytes are in or the buffer is full.
    fn fill(&mut self, most: u64, out: &mut Outbox) {
        if self.unsent() < u64::from(self.window.mss)
            && self.window.in_flight() < self.window.cwnd
            && self.window.lost_out <= self.window.retrans_out
        {
            // The bubble in the pipe until this data has passed is the application's, not the network's.
            self.window.app_limited =
                (self.window.delivered + u64::from(self.window.in_flight())).max(1);
        }
        self.restart_after_idle();
        let unit = self.buffer_payload();
        let overhead = u64::from(self.config.memory.sent_overhead);
        let mut used = self.queued_memory();
        let mut tail = self.unsent() % unit;
        let mut left = self.send.offered.min(most);
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

    /// A third of the buffer is free (`sk_stream_is_writeable`).
    fn is_writable(&self) -> bool {
        let used = self.queued_memory();
        used < self.send.sndbuf && self.send.sndbuf - used >= used >> 1
    }

    /// After an ACK freed space: grow the buffer if cwnd found it too small, and wake the writer if a third is free
    /// (`tcp_check_space`). A thread takes its time to run, as long as the host to look at what arrived.
    pub(super) fn check_space(&mut self) {
        if !self.send.no_space || !self.can_send() {
            return;
        }
        if self.window.in_flight() < self.window.cwnd {
            self.expand_send_buffer();
            self.output.cwnd_stamp = self.window.now;
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
        if self.send.locked {
            return;
        }
        let header_and_info = self.config.memory.sent_header + 320;
        let mss = self.output.advertised_mss.max(self.window.mss);
        let per_segment = u64::from((mss + header_and_info).next_power_of_two() + 256);
        let segments = self.window.cwnd.max(10).max(self.window.reordering + 1);
        let wanted =
            u64::from(self.control.send_buffer_factor()) * u64::from(segments) * per_segment;
        if wanted > self.send.sndbuf {
            self.send.sndbuf = wanted.min(self.config.tcp_wmem[2]).max(self.send.sndbuf);
        }
    }
}
