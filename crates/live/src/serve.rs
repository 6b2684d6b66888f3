//! The first process of a run's process namespace: builds the hosts, answers requests, reaps what ends.

mod start;

use crate::channels::{self, Generators, Over};
use crate::clock::monotonic_ns;
use crate::control::{ControlStream, Incoming};
use crate::gateway::Gateways;
use crate::host_namespace::{self, HostNamespace};
use crate::links::Links;
use crate::names;
use crate::namespaces::settle_mounts;
use crate::per_host::{HostId, PerHost};
use crate::programs::{Ended, Programs};
use crate::protocol::{Event, Exited, Ready, Request, Setup, Spawn};
use crate::refusal::{Machine, Refused};
use crate::report::Report;
use crate::sampler::Sampler;
use crate::signals::ChildEnded;
use crate::sock_diag::SockDiag;
use crate::split::Split;
use crate::topology::{self, Plan};
use crate::watch::{HostsReport, KernelThreads, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, set_parent_process_death_signal, test_kill_process};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

/// How often the datapath is asked whether something failed.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Why a near or far host cannot be had.
fn there_is_no(host: HostId) -> String {
    let side = if host == HostId::Far {
        "path and server"
    } else {
        "client and path"
    };
    format!("this run has no host between {side}")
}

/// A run's hosts and what happens in them.
struct Run {
    setup: Setup,
    plan: Plan,
    namespaces: PerHost<HostNamespace>,
    /// Until `start` hands them to the sampler.
    sockets: Option<PerHost<Vec<SockDiag>>>,
    programs: Programs,
    generators: Generators,
    /// Until `start` hands them to the watch.
    kernel: KernelThreads,
    started: Option<Started>,
}

struct Started {
    zero_monotonic_ns: i64,
    links: Links,
    split: Option<Split>,
    gateways: Option<Gateways>,
    sampler: Sampler,
    /// The processes that keep processors awake.
    awake: Vec<Pid>,
    /// Until `stop`, before the programs are ended.
    watch: Option<Watch>,
    said: Option<String>,
}

/// Serves until `stop`, the control descriptor's end, or `parent`'s (a pidfd). Returns the exit status; the kernel
/// kills what is left when the caller exits.
pub(crate) fn serve(
    control: &mut ControlStream,
    setup: Setup,
    parent: &OwnedFd,
    root: bool,
    machine: &Machine,
    global: &BTreeMap<String, String>,
    kernel: KernelThreads,
) -> i32 {
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() {
        return 1;
    }
    let (mut run, ready) = match build(setup, root, machine, global, kernel) {
        Ok(built) => built,
        Err(refused) => {
            control.say(&Event::Refused(refused));
            return 1;
        }
    };
    let ended = match ChildEnded::watch() {
        Ok(ended) => ended,
        Err(error) => {
            control.say(&trouble(format!(
                "watching for programs that end gave {error}"
            )));
            return 1;
        }
    };
    control.say(&Event::Ready(Box::new(ready)));
    loop {
        while let Some(arrival) = control.arrived() {
            match arrival {
                Incoming::Request(Request::Stop(_)) => return run.stop(control),
                Incoming::Request(request) => run.answer(request, control),
                Incoming::Malformed(message) => control.say(&trouble(message)),
                Incoming::Closed => return 0,
            }
        }
        let mut fds = [
            PollFd::new(parent, PollFlags::IN),
            PollFd::from_borrowed_fd(control.descriptor(), PollFlags::IN),
            PollFd::new(&ended.0, PollFlags::IN),
        ];
        match poll(&mut fds, Some(&LOOK_EVERY)) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return 1,
        }
        let [parent_ended, readable, child_ended] = fds.map(|fd| !fd.revents().is_empty());
        if parent_ended || (readable && !control.fill()) {
            return 0;
        }
        if child_ended {
            ended.clear();
            run.look_at_ended();
            for program in run.programs.reap() {
                control.say(&run.exited(program));
            }
        }
        for over in run.generators.over() {
            control.say(&run.over(over));
        }
        run.look(control);
    }
}

fn build(
    mut setup: Setup,
    root: bool,
    machine: &Machine,
    global: &BTreeMap<String, String>,
    kernel: KernelThreads,
) -> Result<(Run, Ready), Refused> {
    settle_mounts(root, machine)?;
    setup.ip = host_namespace::possible_families(&setup)?;
    channels::refuse(&setup.channels, &setup.ip)?;
    let each_host = setup.each_host();
    if let Some(&host) = setup
        .pcap
        .iter()
        .find(|&&host| each_host.get(host).is_none())
    {
        let (name, why) = (host.name(), there_is_no(host));
        return Err(Refused {
            what: "pcap".into(),
            message: format!("a capture at {name} was asked for, and {why}"),
            remedy: None,
        });
    }
    let mut names = Vec::new();
    for (host, _) in setup.each_host().each_mut() {
        for address in topology::addresses(host, topology::PLAIN, &setup.ip) {
            names.push((host.name(), address));
        }
    }
    names::cover(&names, setup.ip[0]).map_err(|error| Refused {
        what: "/etc/hosts".into(),
        message: format!(
            "covering /etc/hosts and /etc/resolv.conf with the run's own gave {error}"
        ),
        remedy: None,
    })?;
    let plan = Plan::new(
        setup.near.is_some() || setup.hosts_that_end_tcp().is_some(),
        setup.hosts_that_end_tcp().is_some(),
        channels::servers_specs(&setup.channels),
    )
    .map_err(|error| Refused {
        what: "topology".into(),
        message: error.to_string(),
        remedy: None,
    })?;
    let (parts, hosts) = setup
        .each_host()
        .try_map(|host, own| {
            host_namespace::build(host, own, &setup, &plan, root, machine, global)
        })?
        .unzip();
    let (namespaces, sockets) = parts.unzip();
    let ready = Ready {
        hosts,
        kernel: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
        offload: namespaces.client.offload,
        root,
    };
    let run = Run {
        setup,
        plan,
        namespaces,
        sockets: Some(sockets),
        programs: Programs::default(),
        generators: Generators::default(),
        kernel,
        started: None,
    };
    Ok((run, ready))
}

impl Run {
    fn answer(&mut self, request: Request, control: &ControlStream) {
        let event = match request {
            Request::Setup(_) => trouble("a second setup: one host process serves one run".into()),
            Request::Start(start) => self.start(start).unwrap_or_else(trouble),
            Request::Spawn(spawn) => self.spawn(&spawn),
            Request::Channels(request) => match self.generate(&request.id) {
                Ok(()) => return,
                Err(error) => self.over(Over {
                    name: request.id,
                    error: Some(error),
                }),
            },
            Request::Signal(request) => {
                match Signal::from_named_raw(request.signal) {
                    // One that ended in the meantime is not an error: its end is being reported.
                    Some(signal) => {
                        if !self.generators.end(&request.id) {
                            self.programs.signal(&request.id, signal);
                        }
                        return;
                    }
                    None => trouble(format!("there is no signal {}", request.signal)),
                }
            }
            Request::Stop(_) => return,
        };
        control.say(&event);
    }

    fn spawn(&mut self, request: &Spawn) -> Event {
        let id = request.id.clone();
        let host = self.namespaces.get(request.host);
        match host
            .ok_or_else(|| there_is_no(request.host))
            .and_then(|namespace| self.programs.start(request, &namespace.net))
        {
            Ok(pid) => {
                if request.preparation
                    && let Some(watch) = self.watch()
                {
                    watch.leave_out(pid);
                }
                Event::Spawned {
                    id,
                    pid: pid.as_raw_nonzero().get(),
                }
            }
            Err(error) => Event::Exited(Exited {
                id,
                status: None,
                signal: None,
                error: Some(error),
                at_ns: self.run_time(),
            }),
        }
    }

    fn generate(&mut self, name: &str) -> Result<(), String> {
        let started = self
            .started
            .as_ref()
            .ok_or("channels begin after the run's start")?;
        self.generators.start(
            name,
            &self.setup.channels,
            self.setup.seed,
            started.zero_monotonic_ns,
            &self.namespaces.client.net,
            &self.namespaces.server.net,
        )
    }

    fn over(&self, Over { name, error }: Over) -> Event {
        Event::Exited(Exited {
            id: name,
            status: error.is_none().then_some(0),
            signal: None,
            error,
            at_ns: self.run_time(),
        })
    }

    fn exited(&self, program: Ended) -> Event {
        Event::Exited(Exited {
            id: program.id,
            status: program.status,
            signal: program.signal,
            error: None,
            at_ns: self.run_time(),
        })
    }

    fn run_time(&self) -> Option<i64> {
        self.started
            .as_ref()
            .map(|started| monotonic_ns() - started.zero_monotonic_ns)
    }

    fn watch(&self) -> Option<&Watch> {
        self.started.as_ref()?.watch.as_ref()
    }

    fn look_at_ended(&self) {
        for (program, host) in self.programs.ended() {
            if let Some(watch) = self.watch() {
                watch.ended(program, host);
            }
        }
    }

    /// Says what went wrong on a link, once.
    fn look(&mut self, control: &ControlStream) {
        let Some(started) = &mut self.started else {
            return;
        };
        let split_ended = started.split.as_ref().is_some_and(Split::has_ended);
        let split = split_ended.then(|| "the split's forwarder ended before the run".to_owned());
        let gateway_ended = started.gateways.as_ref().is_some_and(Gateways::has_ended);
        let gateway = gateway_ended.then(|| "a gateway ended before the run".to_owned());
        let found = started.links.trouble().or(split).or(gateway);
        if found.is_some() && found != started.said {
            started.said.clone_from(&found);
            control.say(&trouble(found.unwrap_or_default()));
        }
    }

    /// Ends the watch, the programs, then the path, and says what was measured.
    fn stop(mut self, control: &ControlStream) -> i32 {
        let watch = self
            .started
            .as_mut()
            .and_then(|started| started.watch.take());
        let hosts = watch.map(Watch::stop);
        let awake = self.started.iter().flat_map(|started| &started.awake);
        let awake = awake.filter(|&&process| test_kill_process(process).is_ok());
        let processors_kept_awake = awake.count();
        for over in self.generators.end_all() {
            control.say(&self.over(over));
        }
        for program in self.programs.kill_all() {
            control.say(&self.exited(program));
        }
        match self.measured(hosts, processors_kept_awake) {
            Ok(report) => {
                control.say(&Event::Report(Box::new(report)));
                0
            }
            Err(message) => {
                control.say(&trouble(message));
                1
            }
        }
    }

    /// Ends the sampler, the split, the gateways and the links.
    fn measured(
        self,
        hosts: Option<io::Result<HostsReport>>,
        processors_kept_awake: usize,
    ) -> Result<Report, String> {
        let started = self
            .started
            .ok_or("a stop before any start: nothing was measured")?;
        let sampler = started
            .sampler
            .stop()
            .map_err(|error| format!("the sampler could not finish: {error}"))?;
        let hosts = hosts
            .unwrap_or_else(|| Err(io::Error::other("it ended before")))
            .map_err(|error| format!("the watch over the hosts could not finish: {error}"))?;
        let split = started.split.map(Split::stop).transpose();
        let split = split.map_err(|error| format!("the split failed: {error}"))?;
        let gateways = started.gateways.map(Gateways::stop).transpose();
        let gateways = gateways.map_err(|error| format!("a gateway failed: {error}"))?;
        let mut namespaces = self.namespaces;
        let crossings = started.links.stop(&mut namespaces)?;
        Ok(Report::of(
            crossings,
            hosts,
            processors_kept_awake,
            sampler,
            split,
            gateways,
        ))
    }
}

fn trouble(message: String) -> Event {
    Event::Trouble { message }
}
