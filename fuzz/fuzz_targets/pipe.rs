//! Any pipe that can be configured, any packets at any times: what was offered is delivered, dropped or held,
//! nothing leaves before it came or twice without being counted, and time never runs back.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use bentpipe_path::{Ecn, FlowKey, Nanos, Packet, Pipe, PipeConfig, SequenceRange, Time};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

#[derive(Arbitrary, Clone, Debug)]
struct Parcel {
    wait_ns: u32,
    bytes: u16,
    flow: u8,
    capable: bool,
    repair: bool,
    seq: u32,
    syn: bool,
}

impl Packet for Parcel {
    fn wire_bytes(&self) -> u32 {
        u32::from(self.bytes) % 1500 + 1
    }
    fn flow(&self) -> FlowKey {
        FlowKey(u64::from(self.flow))
    }
    fn ecn(&self) -> Ecn {
        if self.capable { Ecn::Ect0 } else { Ecn::NotEct }
    }
    fn is_repair(&self) -> bool {
        self.repair
    }
    fn segment(&self) -> Option<SequenceRange> {
        Some(SequenceRange { seq: self.seq, payload_bytes: self.wire_bytes() / 2, syn: self.syn })
    }
}

/// Times up to about a week and rates up to a petabit per second: what a lab file may hold.
fn bounded(json: &Value) -> bool {
    match json {
        Value::Number(number) => number.as_f64().is_some_and(|value| value.abs() <= 1e15),
        Value::Array(items) => items.iter().all(bounded),
        Value::Object(fields) => fields.values().all(bounded),
        _ => true,
    }
}

fuzz_target!(|bytes: &[u8]| {
    // The configuration is JSON up to a line feed, the packets are what follows.
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return };
    let Ok(json) = serde_json::from_slice::<Value>(&bytes[..end]) else { return };
    if !bounded(&json) {
        return;
    }
    let Ok(config) = serde_json::from_value::<PipeConfig>(json) else { return };
    let mut source = Unstructured::new(&bytes[end + 1..]);
    let Ok(seed) = u64::arbitrary(&mut source) else { return };
    let Ok(mut pipe) = Pipe::<Parcel>::new(&config, 1500, seed, "down", Nanos::from_millis(100)) else { return };
    let mut now = Time(-1_000_000);
    let mut left = 0;
    let mut last = Time(i64::MIN);
    while let Ok(parcel) = Parcel::arbitrary(&mut source) {
        if source.is_empty() {
            break;
        }
        now += Nanos(i64::from(parcel.wait_ns));
        pipe.push(now, parcel);
        while let Some((at, _)) = pipe.pop(now) {
            assert!(at <= now, "left at {at:?}, after {now:?}");
            assert!(at >= last, "left at {at:?}, before the one at {last:?}");
            last = at;
            left += 1;
        }
        let totals = pipe.totals();
        let came = totals.offered + totals.duplicated;
        assert_eq!(came, totals.delivered + totals.dropped_in_all() + totals.held);
        assert_eq!(totals.delivered.packets, left);
    }
    pipe.finish(now);
});
