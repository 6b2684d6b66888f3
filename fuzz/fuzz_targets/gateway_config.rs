//! Whatever stands in a gateway's configuration: it is read or refused with one line that says what is wrong and, for the syntax, where.

#![no_main]

use bentpipe_gateway_daemon::config::{File, Role};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match File::parse(text) {
        Ok(file) => {
            // What the daemon relies on without a look.
            match file.role {
                Role::Near => assert!(file.peer.address.is_some() && file.listen.peer.is_none()),
                Role::Far => assert!(file.peer.address.is_none() && file.listen.peer.is_some()),
            }
            assert!(
                file.status
                    .prometheus
                    .is_none_or(|at| at.ip().is_loopback())
            );
            if let Some(router) = &file.router {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
                // They come into commands of nft.
                assert!(router.interfaces.iter().all(|it| it.chars().all(plain)));
                assert!(file.role == Role::Near && !file.listen.tproxy.is_empty());
            }
        }
        Err(error) => assert!(error.starts_with(':') && error.len() > 3, "{error:?}"),
    }
});
