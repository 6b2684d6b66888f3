//! The send buffer: what the application offers moves in while there is room, and room grows with cwnd
//! (`tcp_sndbuf_expand`), within `tcp_wmem`. Memory counts as Linux counts it: payload plus a fixed overhead per buffer, and
//! the writer sleeps until a third of it is free (`sk_stream_is_writeable`).
//!
//! On a long path that the buffer limits, the writer sets the pace: whether it fills the buffer each time it wakes, or takes
//! less, decides into how many bursts a round trip falls, and with how many gaps.

use crate::config::{Config, Memory};
use crate::congestion::View;
use crate::scoreboard::{BURST_HEAD, Sent};

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
    /// What is left of a block that did not fit whole. It is written next: the call goes on, or the program asks for the rest.
    pub rest: u64,
    /// The writer waits for space (`SOCK_NOSPACE`).
    pub no_space: bool,
    /// Buffers (bursts) sent and not yet acknowledged.
    pub buffers_out: u64,
    /// All that was written is to be reported as acknowledged once it is.
    pub drain_due: bool,
    memory: Memory,
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
            rest: 0,
            no_space: false,
            buffers_out: 0,
            drain_due: false,
            memory: config.memory,
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

    /// Bytes written and not yet sent.
    pub fn unsent(&self, w: &View) -> u64 {
        self.write_seq - w.snd_nxt.min(self.write_seq)
    }

    /// Payload that one unsent buffer takes: a burst's worth, at most half the peer's largest window (`tcp_send_mss`).
    pub fn burst_payload(&self, mss: u32, largest_window: u64) -> u64 {
        let mss = u64::from(mss);
        let half = if largest_window > 536 {
            largest_window >> 1
        } else {
            largest_window
        };
        let most = u64::from(self.memory.gso_bytes).min(half.max(68));
        (most / mss).max(1) * mss
    }

    /// Memory in use (`sk_wmem_queued`), where an unsent buffer takes `burst` bytes.
    pub fn queued_memory(&self, w: &View, burst: u64) -> u64 {
        let buffers = self.buffers_out + self.unsent(w).div_ceil(burst);
        let payload = self.write_seq - w.snd_una.min(self.write_seq);
        payload + buffers * u64::from(self.memory.sent_overhead)
    }

    /// A third of the buffer is free (`sk_stream_is_writeable`).
    pub fn is_writable(&self, w: &View, burst: u64) -> bool {
        let used = self.queued_memory(w, burst);
        used < self.sndbuf && self.sndbuf - used >= used >> 1
    }

    /// Grows to hold `windows` congestion windows of segments of `mss` bytes (`tcp_sndbuf_expand`), at most `most` bytes.
    pub fn expand(&mut self, w: &View, cwnd: u32, windows: u32, mss: u32, most: u64) {
        if self.locked {
            return;
        }
        let header_and_info = self.memory.sent_header + 320;
        let per_segment = u64::from((mss + header_and_info).next_power_of_two() + 256);
        let segments = cwnd.max(10).max(w.reordering + 1);
        let wanted = u64::from(windows) * u64::from(segments) * per_segment;
        if wanted > self.sndbuf {
            self.sndbuf = wanted.min(most).max(self.sndbuf);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Window;

    const MSS: u32 = 1448;

    fn written(bytes: u64) -> (SendBuffer, Window) {
        let mut buffer = SendBuffer::new(&Config::default());
        buffer.write_seq = 1 + bytes;
        let mut window = Window::new(10, 1);
        window.view.snd_una = 1;
        window.view.snd_nxt = 1;
        (buffer, window)
    }

    #[test]
    fn memory_in_use_is_payload_and_an_overhead_per_buffer_sent_or_not() {
        let (mut buffer, mut window) = written(100_000);
        let burst = buffer.burst_payload(MSS, 1 << 20);
        assert_eq!(burst, 45 * u64::from(MSS));
        assert_eq!(buffer.queued_memory(&window, burst), 100_000 + 2 * 832);
        window.view.snd_nxt = 1 + burst;
        buffer.buffers_out = 3;
        assert_eq!(buffer.unsent(&window), 100_000 - burst);
        assert_eq!(buffer.queued_memory(&window, burst), 100_000 + 4 * 832);
    }

    #[test]
    fn a_burst_is_at_most_half_of_a_small_peers_window_and_at_least_a_segment() {
        let (buffer, _) = written(0);
        for (largest, segments) in [(20_000, 6), (1500, 1), (500, 1), (0, 1)] {
            let bytes = buffer.burst_payload(MSS, largest);
            assert_eq!(bytes, segments * u64::from(MSS), "{largest}");
        }
    }

    #[test]
    fn the_writer_wakes_when_a_third_is_free() {
        let (mut buffer, window) = written(19_168);
        let burst = buffer.burst_payload(MSS, 1 << 20);
        buffer.sndbuf = 30_000;
        assert!(buffer.is_writable(&window, burst), "20000 of 30000");
        buffer.write_seq += 1;
        assert!(!buffer.is_writable(&window, burst));
    }

    #[test]
    fn the_buffer_grows_with_cwnd_up_to_its_limit_unless_its_size_was_asked_for() {
        let (mut buffer, window) = written(0);
        buffer.expand(&window, 100, 2, 1460, 4 << 20);
        assert_eq!(buffer.sndbuf, 2 * 100 * (2048 + 256));
        buffer.expand(&window, 10, 2, 1460, 4 << 20);
        assert_eq!(buffer.sndbuf, 2 * 100 * (2048 + 256), "and never shrinks");
        buffer.expand(&window, 100_000, 2, 1460, 4 << 20);
        assert_eq!(buffer.sndbuf, 4 << 20);
        let mut asked = SendBuffer::new(&Config {
            sndbuf: Some(50_000),
            ..Config::default()
        });
        asked.expand(&window, 100_000, 2, 1460, 4 << 20);
        assert_eq!(asked.sndbuf, 50_000);
    }
}
