//! The packets of one connection in a short time, for a reader that draws them one by one.

use crate::packet::ConnectionId;
use crate::rows::Captured;
use crate::seat::{Seat, Side};
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tables::Packet;
use bentpipe_tcp::segment::flag;

/// Which packets are kept.
#[derive(Clone, Copy, Debug)]
pub struct PacketQuestion {
    /// Where they are seen: where a capture at this host sees them.
    pub at: Seat,
    /// Of the connection.
    pub client_port: u16,
    pub server_port: u16,
    /// From this time on, and before that one.
    pub from_ns: Nanos,
    pub to_ns: Nanos,
    /// So many are kept, and no more.
    pub most: u16,
}

bentpipe_reading::read_struct!(PacketQuestion {
    at,
    client_port,
    server_port,
    from_ns,
    to_ns,
    most,
});

/// What is known of one side of the connection.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    /// Behind the last byte that it sent.
    end_seq: u64,
    /// That its SYN offers.
    window_scale: Option<u8>,
}

/// Looks at every packet of the connection from its SYN on, and at no other.
#[derive(Debug)]
pub(super) struct PacketLog {
    question: PacketQuestion,
    /// Ports come round: they are another connection's later.
    connection: ConnectionId,
    /// By [`Side`].
    senders: [Sender; 2],
    kept: u16,
}

impl PacketLog {
    pub fn new(question: PacketQuestion) -> Self {
        Self {
            question,
            connection: ConnectionId::default(),
            senders: Default::default(),
            kept: 0,
        }
    }

    /// The row of a packet that is to be kept.
    pub fn row(&mut self, captured: &Captured) -> Option<Packet<'static>> {
        let asked = &self.question;
        let segment = captured.packet.tcp()?;
        let ports = (captured.client_port, captured.server_port);
        if captured.at != asked.at || ports != (asked.client_port, asked.server_port) {
            return None;
        }
        if self.connection != captured.packet.connection {
            self.connection = captured.packet.connection;
            self.senders = Default::default();
        }
        let is_syn = segment.has(flag::SYN);
        if is_syn {
            self.senders[captured.sender as usize].window_scale = segment.syn.window_scale;
        }
        let scale = match self.senders.map(|it| it.window_scale) {
            [Some(client), Some(server)] if !is_syn => match captured.sender {
                Side::Client => client,
                Side::Server => server,
            },
            _ => 0,
        };
        let sender = &mut self.senders[captured.sender as usize];
        let retransmission = segment.payload > 0 && segment.seq < sender.end_seq;
        sender.end_seq = sender.end_seq.max(segment.end_seq());
        let (from, to) = (Time::ZERO + asked.from_ns, Time::ZERO + asked.to_ns);
        if !(from..to).contains(&captured.time) || self.kept == asked.most {
            return None;
        }
        self.kept += 1;
        let mut blocks = segment.sack.iter(segment.ack);
        let mut edges = || blocks.next().unzip();
        let (sack_1_start, sack_1_end) = edges();
        let (sack_2_start, sack_2_end) = edges();
        let (sack_3_start, sack_3_end) = edges();
        let (sack_4_start, sack_4_end) = edges();
        Some(Packet {
            time_s: captured.time.as_secs_f64(),
            direction: captured.sender.other().direction().name(),
            seq: segment.seq,
            length_bytes: segment.payload.into(),
            ack: segment.has(flag::ACK).then_some(segment.ack),
            window_bytes: u64::from(segment.window) << scale,
            retransmission,
            sack_1_start,
            sack_1_end,
            sack_2_start,
            sack_2_end,
            sack_3_start,
            sack_3_end,
            sack_4_start,
            sack_4_end,
        })
    }
}
