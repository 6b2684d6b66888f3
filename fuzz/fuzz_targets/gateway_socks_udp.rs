//! Whatever a program sends to the socket of its UDP association: the datagram behind the header is the end of what came, and a header that is
//! written is read as the same address.

#![no_main]

use bentpipe_gateway_host::entrance::socks_udp::{request, write_header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| {
    let Ok((to, body)) = request(datagram) else {
        return;
    };
    // The shortest header has the text of an address, "::".
    assert!(datagram.ends_with(body) && body.len() + 9 <= datagram.len());
    let mut again = Vec::new();
    write_header(to, &mut again);
    again.extend_from_slice(body);
    assert_eq!(request(&again), Ok((to, body)));
});
