//! SIGHUP: the configuration is read again. What can change does, and no flow is cut. A wrong file changes nothing.

use crate::config::{File, Loaded, Role};
use crate::routing::Routing;
use crate::setup::{allowed, check_memory, header_bytes, rate, session};
use crate::status::{Answers, Served};
use bentpipe_gateway_host::Change;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use tracing::{error, info, warn};

const PATIENCE: Duration = Duration::from_secs(5);

/// What a reload changes, and the configuration that holds now.
#[derive(Debug)]
pub struct Reloads {
    loaded: Loaded,
    answers: Answers,
    served: Served,
    routing: Option<Routing>,
}

impl Reloads {
    pub fn new(loaded: Loaded, answers: Answers, served: Served, routing: Option<Routing>) -> Self {
        Self {
            loaded,
            answers,
            served,
            routing,
        }
    }

    /// Until nobody asks any more.
    pub fn run(mut self, asked: &Receiver<()>) {
        while asked.recv().is_ok() {
            let done = self.reload();
            self.answers.reloads[usize::from(done.is_err())].fetch_add(1, Ordering::Relaxed);
            if let Err(error) = done {
                error!("the configuration was not reloaded, the one before holds: {error}");
            }
        }
    }

    fn reload(&mut self) -> Result<(), String> {
        let new = Loaded::read(&self.loaded.path).map_err(|error| error.to_string())?;
        let (old, file) = (&self.loaded.file, &new.file);
        let fixed = needs_restart(
            old,
            file,
            new.identity.public() != self.loaded.identity.public(),
        );
        let outer = header_bytes(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        if old.role == file.role {
            check_memory(&new, &session(&new, outer))?;
        }
        let mut changed = Vec::new();
        let mut failed = Vec::new();
        let mut change = Change::default();
        if old.path.rate != file.path.rate {
            change.rate = Some(rate(file.path.rate));
            changed.push("path.rate");
        }
        if old.role == Role::Far && old.access != file.access && file.role == Role::Far {
            let mut now = file.clone();
            now.tun.clone_from(&old.tun);
            change.onward = Some(allowed(&now));
            changed.push("access");
        }
        if old.limits.connections != file.limits.connections {
            change.most_connections = Some(file.limits.connections);
            changed.push("limits.connections");
        }
        if old.limits.user_associations != file.limits.user_associations {
            change.most_user_associations = Some(file.limits.user_associations);
            changed.push("limits.user_associations");
        }
        match self.answers.watch.change(PATIENCE, change) {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(format!("path.{error}")),
            None => return Err("the gateway did not answer".into()),
        }
        let mut holds = new.clone();
        if old.router != file.router
            && let (Some(routing), Some(router)) = (&self.routing, &file.router)
        {
            match routing.change(router) {
                Ok(()) => changed.push("router"),
                // The next reload tries it again.
                Err(error) => {
                    holds.file.router.clone_from(&old.router);
                    failed.push(error);
                }
            }
        }
        if old.status != file.status {
            match self.served.change(&file.status, &self.answers) {
                Ok(()) => changed.push("status"),
                Err(error) => {
                    holds.file.status.clone_from(&old.status);
                    failed.push(error);
                }
            }
        }
        // What needs a restart is compared with what runs, at the next reload too.
        keep_fixed(&mut holds, &self.loaded);
        self.loaded = holds;
        for warning in &new.warnings {
            warn!("{warning}");
        }
        for error in failed {
            error!("a part of the configuration could not be changed: {error}");
        }
        let list = |names: &[&str]| match names {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        };
        info!(changed = %list(&changed), needs_restart = %list(&fixed), "reloaded");
        Ok(())
    }
}

/// What differs and cannot change while the gateway runs.
fn needs_restart(old: &File, new: &File, other_key: bool) -> Vec<&'static str> {
    let listens = old.listen != new.listen;
    let router = old.router.is_some() != new.router.is_some();
    [
        ("role", old.role != new.role),
        ("key", other_key),
        ("peer.key", old.peer.key != new.peer.key),
        ("peer.address", old.peer.address != new.peer.address),
        ("listen", listens),
        (
            "path.redundancy",
            old.path.redundancy != new.path.redundancy,
        ),
        (
            "path.udp_payload",
            old.path.udp_payload != new.path.udp_payload,
        ),
        ("[router]", router),
        ("[tun]", old.tun != new.tun),
        ("status.state", old.status.state != new.status.state),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect()
}

fn keep_fixed(new: &mut Loaded, old: &Loaded) {
    let (file, before) = (&mut new.file, &old.file);
    file.role = before.role;
    file.peer = before.peer.clone();
    file.listen = before.listen.clone();
    file.path.redundancy = before.path.redundancy;
    file.path.udp_payload = before.path.udp_payload;
    file.status.state.clone_from(&before.status.state);
    file.tun.clone_from(&before.tun);
    if before.router.is_some() != file.router.is_some() {
        file.router.clone_from(&before.router);
    }
    new.identity = old.identity.clone();
}
