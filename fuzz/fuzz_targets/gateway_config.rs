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
            // Names come into commands of nft and ip.
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
            if let Some(tun) = &file.tun {
                let mut names = tun.interfaces.iter().chain([&tun.device]);
                assert!(names.all(|it| !it.starts_with('-') && it.chars().all(plain)));
                assert!(!tun.address.is_empty());
            }
            if let Some(router) = &file.router {
                assert!(router.interfaces.iter().all(|it| it.chars().all(plain)));
                assert!(file.role == Role::Near && !file.listen.tproxy.is_empty());
            }
        }
        Err(error) => assert!(error.starts_with(':') && error.len() > 3, "{error:?}"),
    }
});
