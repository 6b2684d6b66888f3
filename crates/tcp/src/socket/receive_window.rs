//! The receive window as this socket advertises it, and what makes it grow.

use super::Socket;
use crate::segment::Segment;

impl Socket {
    /// The window that stands advertised.
    pub(super) fn receive_window(&self) -> u64 {
        self.buffer.window(&self.receiver)
    }

    /// The window that the buffer justifies now.
    pub(super) fn window_would_be(&self) -> u64 {
        let rcv_mss = self.delayed.rcv_mss;
        self.buffer.window_would_be(&self.receiver, rcv_mss)
    }

    /// Chooses the window for a departing packet. Returns the header's field.
    pub(super) fn advertise(&mut self) -> u16 {
        if self.buffer.is_filling(&self.receiver) {
            self.delayed.no_quick();
        }
        let rcv_mss = self.delayed.rcv_mss;
        self.buffer.advertise(&self.receiver, rcv_mss)
    }

    /// Each good segment opens the window a little.
    pub(super) fn grow_window(&mut self, packet: &Segment) {
        let memory = u64::from(self.config.memory.received(packet.wire_bytes));
        let rcv_mss = self.delayed.rcv_mss;
        let payload = packet.payload;
        if self
            .buffer
            .grow_window(&self.receiver, rcv_mss, payload, memory)
        {
            self.delayed.window_grew();
        }
    }

    /// The RTT as the receiver sees it, from the timestamp that a full segment echoes.
    pub(super) fn measure_receiver_rtt(&mut self, packet: &Segment) {
        if let Some((_, echo)) = packet.timestamps
            && packet.payload >= self.delayed.rcv_mss
        {
            let millis = self.timestamp().wrapping_sub(echo) as i32;
            self.buffer
                .measure_rtt_by_echo(echo, millis, &self.receiver);
        }
    }
}
