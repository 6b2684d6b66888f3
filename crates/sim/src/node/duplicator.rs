//! Sends every packet on, and a copy of every n-th packet with it. An example of a box: CONTRIBUTING.md, "Add a node".

use super::{Node, Outbox, Parameters};
use crate::packet::Packet;
use bentpipe_base::time::Time;
use bentpipe_reading::in_words;

#[derive(Debug)]
struct Duplicator {
    every: u64,
    seen: u64,
}

/// `every`: which packets are sent twice; 1: all.
pub(super) fn build(parameters: &mut Parameters) -> Result<Box<dyn Node>, String> {
    let every = parameters.number("every", 1.0..=1e9, 1.0)?;
    if every.fract() != 0.0 {
        let found = in_words(every);
        return Err(format!("every: expected a whole number, got {found}"));
    }
    let every = every as u64;
    Ok(Box::new(Duplicator { every, seen: 0 }))
}

impl Node for Duplicator {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        self.seen += 1;
        if self.seen.is_multiple_of(self.every) {
            out.send(now, packet.clone());
        }
        out.send(now, packet);
    }
}
