//! Whose share of the session a host's flows have.

use std::net::{IpAddr, Ipv6Addr};

/// The user that a host is, for figures: its IPv4 address, or its IPv6 network of /64.
pub(crate) fn user_address(host: IpAddr) -> IpAddr {
    match host.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// An IPv4 address is one local user, and an IPv6 network of /64.
pub(crate) fn user_of(host: IpAddr) -> u64 {
    match host.to_canonical() {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_an_ipv4_address_or_an_ipv6_network() {
        let user = |text: &str| user_of(text.parse().expect("an address"));
        assert_eq!(user("10.0.0.1"), user("::ffff:10.0.0.1"));
        assert_ne!(user("10.0.0.1"), user("10.0.0.2"));
        assert_eq!(user("fd77::1"), user("fd77::2"));
        assert_ne!(user("fd77::1"), user("fd77:0:0:1::1"));
        let address = |text: &str| user_address(text.parse().expect("an address")).to_string();
        assert_eq!(address("::ffff:10.0.0.1"), "10.0.0.1");
        assert_eq!(address("fd77:0:0:1::5"), "fd77:0:0:1::");
    }
}
