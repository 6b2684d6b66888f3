//! Whatever a program sends to a gateway's SOCKS5 or HTTP CONNECT, however it is cut: where it leads is the same in every cut, no byte behind the
//! greeting is taken, and a greeting that is too long is refused.

#![no_main]

use bentpipe_gateway::NamedTarget;
use bentpipe_gateway_host::Entrance;
use bentpipe_gateway_host::entrance::{Asked, Greeting, LONGEST_GREETING, Step};
use libfuzzer_sys::fuzz_target;
use std::net::{Ipv4Addr, SocketAddr};

/// The answers, and what is to be done in the end.
fn read(entrance: Entrance, sent: &[u8], cut: usize) -> (Vec<u8>, Step) {
    let mut greeting = Greeting::new(entrance).expect("it greets");
    let mut answers = Vec::new();
    let mut end = 0;
    loop {
        end = (end + cut).min(sent.len());
        loop {
            match greeting.read(&sent[..end]) {
                Step::More => break,
                Step::Answer(answer) => answers.extend_from_slice(answer),
                step => return (answers, step),
            }
        }
        if end == sent.len() {
            return (answers, Step::More);
        }
    }
}

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (socks, cut, sent) = input;
    let entrance = if socks {
        Entrance::Socks5
    } else {
        Entrance::HttpConnect
    };
    let (answers, step) = read(entrance, sent, usize::from(cut).max(1));
    let (_, whole) = read(entrance, sent, sent.len().max(1));
    match &step {
        Step::Open { asked, taken, .. } => {
            assert!(*taken <= sent.len() && *taken <= LONGEST_GREETING);
            // What follows a greeting changes nothing.
            assert_eq!(read(entrance, &sent[..*taken], sent.len().max(1)).1, step);
            if let Asked::Name { name, port } = asked {
                let source = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 1);
                assert!(NamedTarget::new(name, *port, source).is_some(), "{name}");
            }
            assert_eq!(step, whole);
        }
        Step::More => assert!(sent.len() < LONGEST_GREETING, "it waits for ever"),
        Step::Associate => assert!(socks && whole == step),
        // A greeting that is too long is refused as soon as that is seen.
        Step::Refuse(_) => assert!(whole == step || sent.len() >= LONGEST_GREETING),
        Step::Answer(_) => unreachable!("answers are taken"),
    }
    assert!(answers.len() <= 2);
});
