//! Where the IP packet begins in a captured frame (<https://www.tcpdump.org/linktypes.html>): Ethernet with VLAN tags and `PPPoE`, raw
//! IP, Linux's cooked captures, BSD's loopback.

/// A number of the registry of link types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

const NULL: u16 = 0;
const ETHERNET: u16 = 1;
/// `DLT_RAW` of OpenBSD and of other systems, which some programs write into files.
const RAW_OPENBSD: u16 = 14;
const RAW_OTHERS: u16 = 12;
const RAW: u16 = 101;
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_SLL2: u16 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_PPPOE: u16 = 0x8864;
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More tags than this are no Ethernet.
const MAX_TAGS: usize = 4;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// An IP packet behind so many bytes.
    Ip { at: usize },
    /// ARP and the like, or a frame cut within its own header.
    Other,
    /// The link type is not read here.
    Unknown,
}

impl LinkType {
    #[inline]
    pub fn carried(self, frame: &[u8]) -> Carried {
        match self.0 {
            ETHERNET => typed(frame, 12),
            RAW | RAW_OPENBSD | RAW_OTHERS | IPV4 | IPV6 => Carried::Ip { at: 0 },
            LINUX_SLL => typed(frame, 14),
            LINUX_SLL2 => match be16(frame, 0) {
                Some(protocol) => by_ethertype(frame, protocol, 20),
                None => Carried::Other,
            },
            NULL | LOOP => family(frame),
            _ => Carried::Unknown,
        }
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|chunk| u16::from_be_bytes(*chunk))
}

/// The type stands right before what is carried.
#[inline]
fn typed(frame: &[u8], at: usize) -> Carried {
    match be16(frame, at) {
        Some(ethertype) => by_ethertype(frame, ethertype, at + 2),
        None => Carried::Other,
    }
}

fn by_ethertype(frame: &[u8], mut ethertype: u16, mut at: usize) -> Carried {
    for _ in 0..MAX_TAGS {
        match ethertype {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Carried::Ip { at },
            // Six bytes of PPPoE, two of PPP's protocol: 0x0021 is IPv4, 0x0057 IPv6.
            ETHERTYPE_PPPOE => {
                return match be16(frame, at + 6) {
                    Some(0x0021 | 0x0057) => Carried::Ip { at: at + 8 },
                    _ => Carried::Other,
                };
            }
            tag if VLAN_TAGS.contains(&tag) => match be16(frame, at + 2) {
                Some(inner) => {
                    ethertype = inner;
                    at += 4;
                }
                None => return Carried::Other,
            },
            _ => return Carried::Other,
        }
    }
    Carried::Other
}

/// Four bytes of address family, in the byte order of the machine that captured: `AF_INET` is 2, `AF_INET6` 10, 24, 28 or 30.
fn family(frame: &[u8]) -> Carried {
    let Some(family) = frame.first_chunk::<4>() else {
        return Carried::Other;
    };
    let family = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    match family {
        2 | 10 | 24 | 28 | 30 => Carried::Ip { at: 4 },
        _ => Carried::Other,
    }
}
