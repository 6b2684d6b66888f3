//! Whatever arrives at the host process's control descriptor is a request or an error, never a panic.

#![no_main]

use bentpipe_live::protocol::Request;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Request::Setup(setup)) = serde_json::from_slice::<Request>(bytes) {
        assert!(setup.ip.len() <= bytes.len());
    }
});
