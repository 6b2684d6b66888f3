//! What happens to the gateway, one thing after another.

use arbitrary::Arbitrary;

#[derive(Arbitrary, Debug)]
pub enum Step<'a> {
    Connect {
        datagram: u16,
    },
    Lose,
    /// Goes on with the session that the gateway has named last.
    Resume {
        datagram: u16,
        packet: u16,
    },
    Hello {
        session: u64,
        packet: u16,
        kept: u32,
        flow: u64,
        all: u64,
        flows: u32,
        datagrams: u32,
    },
    Control {
        bytes: &'a [u8],
    },
    Datagram {
        bytes: &'a [u8],
    },
    /// A packet of frames, or of what is none, as the code carries it.
    Packet {
        bytes: &'a [u8],
    },
    /// Frames that a gateway could have sent, in one packet.
    Frames {
        frames: Vec<AnyFrame>,
    },
    /// The peer's numbers go on so much farther, as after many lost packets.
    Skip {
        lossy: bool,
        packets: u16,
    },
    /// A report of what has come; some of the datagrams between two reports are lost.
    Report {
        keep_every: u8,
    },
    /// The same on the plane with datagrams.
    Datagrams {
        bytes: &'a [u8],
    },
    DatagramFrames {
        frames: Vec<AnyDatagram>,
    },
    OpenNamed {
        user: u8,
    },
    OpenChannel {
        user: u8,
        ip: bool,
    },
    SendDatagram {
        flow: u8,
        bytes: u16,
        address: bool,
    },
    Receive {
        count: u8,
    },
    Open {
        user: u8,
    },
    Write {
        flow: u8,
        bytes: u16,
    },
    Finish {
        flow: u8,
    },
    Reset {
        flow: u8,
    },
    Read {
        flow: u8,
    },
    Wait {
        micros: u32,
    },
    NextTimer,
}

#[derive(Arbitrary, Debug)]
pub enum AnyFrame {
    Data {
        flow: u8,
        offset: u16,
        bytes: u8,
        end: bool,
    },
    /// The next bytes of a flow.
    Next {
        flow: u8,
        bytes: u16,
        end: bool,
    },
    Target {
        flow: u8,
        kind: u8,
    },
    Reset {
        flow: u8,
        code: u8,
    },
    FlowCredit {
        flow: u8,
        more: u32,
    },
    SessionCredit {
        limit: u64,
    },
    FlowsCredit {
        limit: u64,
    },
}

#[derive(Arbitrary, Debug)]
pub enum AnyDatagram {
    Whole {
        flow: u8,
        address: bool,
        bytes: u8,
    },
    Piece {
        number: u8,
        total: u16,
        offset: u16,
        bytes: u8,
    },
}
