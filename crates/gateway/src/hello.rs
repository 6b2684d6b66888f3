//! Control messages: what the carrier delivers in order. All numbers are big-endian.
//!
//! | type | message | fields after the type (8 bits) |
//! |---|---|---|
//! | 1 | HELLO | version (16 bits), boot epoch (64), session (64), longest packet (16), kept packets (32), flow credit (64), session credit (64), flows (32), kept datagram packets (32), age (64), clock (64) |
//! | 2 | CLOSE | code (8 bits), reason (UTF-8, up to the message's end) |
//!
//! Bytes behind the fields of a HELLO are left out: a later version may have more. Those that are missing at the
//! end, from the kept datagram packets on, are as if they were 0.

use core::fmt;

/// Of the protocol, as a HELLO says it: the highest that this gateway speaks. A session speaks the lower one of both gateways'.
pub const VERSION: u16 = 1;
/// The lowest that this gateway speaks: the one before [`VERSION`], so that one side at a time can be upgraded.
pub const OLDEST_VERSION: u16 = 1;
/// No control message is longer.
pub const CONTROL_MAX_BYTES: usize = 1024;
/// Of one without the kept datagram packets.
const HELLO_BYTES: usize = 1 + 2 + 8 + 8 + 2 + 4 + 8 + 8 + 4;

/// What each gateway says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    pub version: u16,
    /// Another number each time that the gateway starts.
    pub epoch: u64,
    /// From near: the session that it would go on with, or 0. From far: the session that both have from now on.
    pub session: u64,
    /// The longest packet of the coded plane that it takes, in bytes.
    pub packet_max_bytes: u16,
    /// It keeps so many packets: the other sends no packet that is so many after the first one that is missing.
    pub kept_packets: u32,
    /// So many bytes may be sent on each flow before a FLOW CREDIT.
    pub flow_credit: u64,
    /// So many bytes may be sent on all flows before a SESSION CREDIT.
    pub session_credit: u64,
    /// So many flows may be opened before a FLOWS CREDIT.
    pub flows: u32,
    /// It keeps so many packets with datagrams, so a repair covers no more. 0: it takes no datagrams.
    pub datagram_packets: u32,
    /// Microseconds since the sender took the port at which it is reached, or less. 0: it does not say.
    pub age_us: u64,
    /// Microseconds on a clock of its machine, which goes on while gateways are restarted and while the machine sleeps. 0: it does not say.
    pub clock_us: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    Hello(Hello),
    Close { code: u8, reason: String },
}

/// A control message that no gateway sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlError {
    Length(usize),
    Type(u8),
    Reason,
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(bytes) => write!(f, "control message of {bytes} bytes"),
            Self::Type(kind) => write!(f, "control message of type {kind}, expected 1 or 2"),
            Self::Reason => f.write_str("the reason of a CLOSE is not UTF-8"),
        }
    }
}

impl core::error::Error for ControlError {}

impl Control {
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => {
                let mut out = vec![1];
                out.extend_from_slice(&hello.version.to_be_bytes());
                out.extend_from_slice(&hello.epoch.to_be_bytes());
                out.extend_from_slice(&hello.session.to_be_bytes());
                out.extend_from_slice(&hello.packet_max_bytes.to_be_bytes());
                out.extend_from_slice(&hello.kept_packets.to_be_bytes());
                out.extend_from_slice(&hello.flow_credit.to_be_bytes());
                out.extend_from_slice(&hello.session_credit.to_be_bytes());
                out.extend_from_slice(&hello.flows.to_be_bytes());
                out.extend_from_slice(&hello.datagram_packets.to_be_bytes());
                if (hello.age_us, hello.clock_us) != (0, 0) {
                    out.extend_from_slice(&hello.age_us.to_be_bytes());
                    out.extend_from_slice(&hello.clock_us.to_be_bytes());
                }
                out
            }
            Self::Close { code, reason } => {
                let mut out = vec![2, *code];
                let limit = CONTROL_MAX_BYTES - out.len();
                let end = (0..=limit.min(reason.len())).rev();
                let end = end
                    .into_iter()
                    .find(|&at| reason.is_char_boundary(at))
                    .unwrap_or(0);
                out.extend_from_slice(&reason.as_bytes()[..end]);
                out
            }
        }
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ControlError> {
        let length = ControlError::Length(bytes.len());
        if bytes.len() > CONTROL_MAX_BYTES {
            return Err(length);
        }
        match bytes.first().ok_or(length)? {
            1 if bytes.len() >= HELLO_BYTES => {
                let number = |at: usize, length: usize| {
                    let field = bytes.get(at..at + length).unwrap_or(&[]);
                    field.iter().fold(0, |it, &byte| it << 8 | u64::from(byte))
                };
                Ok(Self::Hello(Hello {
                    version: number(1, 2) as u16,
                    epoch: number(3, 8),
                    session: number(11, 8),
                    packet_max_bytes: number(19, 2) as u16,
                    kept_packets: number(21, 4) as u32,
                    flow_credit: number(25, 8),
                    session_credit: number(33, 8),
                    flows: number(41, 4) as u32,
                    datagram_packets: number(45, 4) as u32,
                    age_us: number(49, 8),
                    clock_us: number(57, 8),
                }))
            }
            2 if bytes.len() >= 2 => {
                let reason = str::from_utf8(&bytes[2..]).map_err(|_| ControlError::Reason)?;
                Ok(Self::Close {
                    code: bytes[1],
                    reason: reason.to_owned(),
                })
            }
            1 | 2 => Err(length),
            &other => Err(ControlError::Type(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_hello_that_is_written_is_read(
            epoch: u64, session: u64, packet_max_bytes: u16, kept_packets: u32,
            flow_credit: u64, session_credit: u64, flows: u32, datagram_packets: u32, age_us: u64, clock_us: u64, more in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let hello = Control::Hello(Hello {
                version: VERSION, epoch, session, packet_max_bytes, kept_packets, flow_credit, session_credit, flows,
                datagram_packets, age_us, clock_us,
            });
            let mut bytes = hello.to_bytes();
            prop_assert_eq!(bytes.len(), HELLO_BYTES + if (age_us, clock_us) == (0, 0) { 4 } else { 20 });
            let short = Control::from_bytes(&bytes[..HELLO_BYTES]);
            let short = matches!(short, Ok(Control::Hello(Hello { datagram_packets: 0, age_us: 0, clock_us: 0, .. })));
            prop_assert!(short, "one without the last fields is read");
            bytes.extend(more);
            prop_assert_eq!(Control::from_bytes(&bytes), Ok(hello));
        }

        #[test]
        fn a_close_keeps_as_much_of_its_reason_as_there_is_room(code: u8, reason in ".{0,700}") {
            let bytes = Control::Close { code, reason: reason.clone() }.to_bytes();
            prop_assert!(bytes.len() <= CONTROL_MAX_BYTES);
            let Ok(Control::Close { code: read, reason: kept }) = Control::from_bytes(&bytes) else {
                panic!("no CLOSE: {bytes:?}");
            };
            prop_assert_eq!(read, code);
            prop_assert!(reason.starts_with(&kept));
            prop_assert!(kept == reason || bytes.len() > CONTROL_MAX_BYTES - 4);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..1100)) {
            let _ = Control::from_bytes(&bytes);
        }
    }
}
