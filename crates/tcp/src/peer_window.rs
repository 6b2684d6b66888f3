//! The window that the peer advertises (RFC 9293, section 3.10.7.4; `tcp_may_update_window`).

use crate::segment::Segment;

#[derive(Clone, Copy, Debug, Default)]
pub struct PeerWindow {
    pub bytes: u64,
    /// The largest ever.
    pub largest: u64,
    /// Sequence number of the segment that it came with.
    seq: u64,
    /// Window scale: what the header's field is shifted by.
    pub scale: u8,
}

impl PeerWindow {
    /// The handshake's window.
    pub fn begin(&mut self, bytes: u64) {
        self.bytes = bytes;
        self.largest = bytes;
    }

    /// The window of a segment, in bytes.
    pub fn of(&self, packet: &Segment) -> u64 {
        u64::from(packet.window) << self.scale
    }

    /// Whether a segment's window is news: it acknowledges more, is newer, or offers more than the one that stands.
    pub fn is_news(&self, packet: &Segment, snd_una: u64) -> bool {
        let bytes = self.of(packet);
        packet.ack > snd_una
            || packet.seq > self.seq
            || (packet.seq == self.seq && (bytes > self.bytes || bytes == 0))
    }

    /// Takes a segment's window if it is news. Returns whether the ACK is more than a duplicate because of it.
    pub fn update(&mut self, packet: &Segment, snd_una: u64) -> bool {
        if !self.is_news(packet, snd_una) {
            return false;
        }
        let bytes = self.of(packet);
        let changed = bytes != self.bytes;
        self.seq = packet.seq;
        self.bytes = bytes;
        self.largest = self.largest.max(bytes);
        // An ACK that advances over data is not a duplicate anyway; only a real change says "not a duplicate".
        changed || packet.ack > snd_una
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64, ack: u64, window: u16) -> Segment {
        Segment {
            seq,
            ack,
            window,
            ..Segment::default()
        }
    }

    #[test]
    fn an_older_segment_does_not_change_the_window_and_a_newer_one_may_shrink_it() {
        let mut window = PeerWindow {
            scale: 2,
            ..PeerWindow::default()
        };
        window.begin(1000);
        assert!(window.update(&segment(500, 1, 800), 1));
        assert_eq!((window.bytes, window.largest), (3200, 3200));
        assert!(!window.update(&segment(499, 1, 900), 1), "older");
        assert!(!window.update(&segment(500, 1, 700), 1), "smaller");
        assert!(window.update(&segment(500, 1, 0), 1), "closed");
        assert!(window.update(&segment(501, 1, 700), 1), "newer");
        assert!(window.update(&segment(400, 2, 600), 1), "acknowledges more");
        assert_eq!((window.bytes, window.largest), (2400, 3200));
    }

    #[test]
    fn a_newer_segment_with_the_same_window_is_still_a_duplicate() {
        let mut window = PeerWindow::default();
        window.begin(1000);
        assert!(!window.update(&segment(10, 1, 1000), 1));
    }
}
