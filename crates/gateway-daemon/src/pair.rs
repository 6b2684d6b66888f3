//! `bentpipe-gateway pair`: far invites, and near takes the invitation, once. Both make their keys and write their configurations.
//!
//! They talk over TLS 1.3. Near knows far's key by the invitation, and ends if far has another one, so nobody between them learns the secret. Near
//! proves its own new key in the handshake, and shows the secret inside. The messages, each in a control frame of the carrier:
//!
//! | from | bytes | meaning |
//! |---|---|---|
//! | near | 1, the secret | takes the invitation for the key that near has proved |
//! | far | 2 | taken: far's configuration has near's key |
//! | far | 3, text | refused, and why |
//! | near | 4 | near's configuration is written, too: the invitation is over |
//!
//! Far answers near again, with the same key, until the last message has come: a lost answer costs nothing. Any other key is refused.

use crate::config::{self, Role, check_address};
use crate::invitation::{Invitation, SECRET_BYTES, Secret, port_of};
use crate::keys::{self, Unused};
use crate::quantity;
use crate::sockets;
use bentpipe_carrier::identity::{Identity, PublicKey};
use bentpipe_carrier::tls::{Carrier, Config, FarEnd};
use bentpipe_carrier::{Event, Why};
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const TAKE: u8 = 1;
const TAKEN: u8 = 2;
const REFUSED: u8 = 3;
const WRITTEN: u8 = 4;
/// Who has connected has so long for all it has to say. A handshake takes two round trips.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many may talk at once; more are not listened to.
const MOST_AT_ONCE: usize = 32;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What the package's units read, and what is there where systemd runs (`sd_booted(3)`).
const UNITS_CONFIG: &str = "/etc/bentpipe/gateway.toml";
const SYSTEMD: &str = "/run/systemd/system";
/// So many refusals are told of; more are counted.
const MOST_TOLD: usize = 20;

/// What either end writes.
#[derive(Debug)]
pub struct Place {
    pub config: PathBuf,
    pub rate: String,
}

impl Place {
    fn key(&self) -> PathBuf {
        self.config.with_extension("key")
    }

    fn text(&self, role: Role, peer: &str, listen: &str) -> String {
        let key = self.key();
        let key = key.file_name().unwrap_or_default().to_string_lossy();
        let rate = match self.rate.as_str() {
            "fair" => "\"fair\"".to_owned(),
            rate => format!("\"{}\"", rate.replace(['"', '\\', '\n'], "")),
        };
        format!(
            "# Written by bentpipe-gateway pair.\nrole = \"{role}\"\nkey = \"{key}\"\n\n[peer]\n{peer}\n\n[path]\nrate = {rate}\n\n\
             [listen]\n{listen}\n\n[status]\nsocket = \"/run/bentpipe-gateway/status.sock\"\n"
        )
    }

    /// Whether the text is right and its place is free.
    fn check(&self, text: &str) -> Result<(), String> {
        let name = self.config.display();
        if self.config.exists() {
            return Err(format!(
                "{name}: it exists already. Move it away, or name another place with --config"
            ));
        }
        if self.rate != "fair" {
            quantity::rate(&self.rate).map_err(|what| format!("--rate: {what}, or \"fair\""))?;
        }
        config::File::parse(text)
            .map(drop)
            .map_err(|error| format!("the configuration would be wrong{error}"))
    }

    fn write(&self, text: &str) -> Result<(), String> {
        let mut options = OpenOptions::new();
        let wrong = |error| format!("{}: cannot write it: {error}", self.config.display());
        let opened = options.write(true).create_new(true).open(&self.config);
        let mut file = opened.map_err(wrong)?;
        // It has no secret, and a daemon of systemd is no root: a strict umask would hide it.
        let written = file
            .set_permissions(Permissions::from_mode(0o644))
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| file.sync_all());
        written.map_err(|error| {
            // Half a configuration is none.
            let _ = fs::remove_file(&self.config);
            wrong(error)
        })
    }
}

/// A connection, until its time is over.
struct Talk {
    stream: TcpStream,
    carrier: Carrier,
    until: Instant,
}

/// A message is a few bytes.
fn limits() -> Config {
    Config {
        receive_bytes: 4096,
        ..Config::default()
    }
}

impl Talk {
    fn new(stream: TcpStream, carrier: Carrier) -> Self {
        Self {
            stream,
            carrier,
            until: Instant::now() + PATIENCE,
        }
    }

    fn flush(&mut self) -> Result<(), String> {
        let mut out = Vec::new();
        while self.carrier.poll_bytes(&mut out) {}
        let left = self.until.saturating_duration_since(Instant::now());
        self.stream
            .set_write_timeout(Some(left.max(Duration::from_millis(1))))
            .and_then(|()| self.stream.write_all(&out))
            .map_err(|error| error.to_string())
    }

    /// The next event that is a message or the other end's key.
    fn next(&mut self) -> Result<Event, String> {
        let mut buffer = [0; 4096];
        loop {
            self.flush()?;
            while let Some(event) = self.carrier.poll_event() {
                match event {
                    Event::Closed {
                        why: Why::KeyNotAllowed,
                    } => {
                        // Only a far that runs knows which keys are right.
                        return Err(
                            "far is paired and runs: the invitation was used, or has expired"
                                .into(),
                        );
                    }
                    Event::Closed { why } => {
                        // An alert says why to the other end.
                        let _ = self.flush();
                        return Err(why.to_string());
                    }
                    Event::Connected { .. } | Event::Control(_) => return Ok(event),
                    _ => {}
                }
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("it took too long".into());
            }
            let read = self.stream.set_read_timeout(Some(left));
            match read.and_then(|()| self.stream.read(&mut buffer)) {
                Ok(0) => self.carrier.handle_end(),
                Ok(length) => {
                    // What is not taken is more than a few messages.
                    if self.carrier.handle_bytes(&buffer[..length]) < length {
                        return Err("it says too much".into());
                    }
                }
                Err(_) => return Err("it took too long, or the connection broke".into()),
            }
        }
    }

    fn key(&mut self) -> Result<PublicKey, String> {
        match self.next()? {
            Event::Connected { key, .. } => Ok(key),
            _ => Err("a message before the handshake".into()),
        }
    }

    fn message(&mut self) -> Result<Vec<u8>, String> {
        match self.next()? {
            Event::Control(message) => Ok(message.to_vec()),
            _ => Err("a second handshake".into()),
        }
    }

    fn say(&mut self, message: &[u8]) -> Result<(), String> {
        let sent = self.carrier.send_control(message);
        sent.map_err(|error| error.to_string())?;
        self.flush()
    }
}

/// What far's threads share.
struct Inviting {
    place: Place,
    listen: SocketAddr,
    secret: Secret,
    until: Instant,
    /// Who took it.
    taken_by: Option<PublicKey>,
    /// Near has said that it has written its configuration.
    over: bool,
    refused: usize,
    /// Far cannot go on.
    failed: Option<String>,
}

impl Inviting {
    fn text(&self, near: PublicKey) -> String {
        let (peer, listen) = (
            format!("key = \"{near}\""),
            format!("peer = \"{}\"", self.listen),
        );
        self.place.text(Role::Far, &peer, &listen)
    }

    /// Whether near, which has this key, may be it.
    fn take(&mut self, near: PublicKey, message: &[u8]) -> Result<(), &'static str> {
        if message.first() != Some(&TAKE) || !self.secret.is(&message[1..]) {
            return Err("the secret is wrong");
        }
        match self.taken_by {
            Some(by) if by == near => Ok(()),
            Some(_) => Err("the invitation was used before"),
            None if Instant::now() >= self.until => Err("the invitation has expired"),
            None => match self.place.write(&self.text(near)) {
                Ok(()) => {
                    self.taken_by = Some(near);
                    Ok(())
                }
                Err(error) => {
                    self.failed = Some(error);
                    Err("far cannot write its configuration")
                }
            },
        }
    }
}

fn lock(shared: &Mutex<Inviting>) -> MutexGuard<'_, Inviting> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One connection to far, which may be anybody's.
fn hear(mut talk: Talk, from: SocketAddr, shared: &Mutex<Inviting>) {
    let done = talk.key().and_then(|key| {
        let message = talk.message()?;
        if let Err(why) = lock(shared).take(key, &message) {
            // Who is refused may have left.
            let _ = talk.say(&[&[REFUSED], why.as_bytes()].concat());
            return Err(why.to_owned());
        }
        talk.say(&[TAKEN])?;
        if talk.message()? == [WRITTEN] {
            lock(shared).over = true;
        }
        Ok(())
    });
    if let Err(why) = done {
        let mut shared = lock(shared);
        shared.refused += 1;
        if shared.refused <= MOST_TOLD {
            eprintln!("refused {from}: {why} ({} so far)", shared.refused);
        }
    }
}

/// All addresses of this machine: IPv6's, which take IPv4, too, if it has IPv6.
fn everywhere(port: u16) -> SocketAddr {
    if UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok() {
        ([0; 8], port).into()
    } else {
        ([0; 4], port).into()
    }
}

/// What starts the gateway.
fn next(config: &Path, role: Role) -> String {
    if config == Path::new(UNITS_CONFIG) && Path::new(SYSTEMD).is_dir() {
        format!("next: bentpipe-gateway check, then systemctl enable --now bentpipe-gateway-{role}")
    } else {
        format!(
            "next: bentpipe-gateway {role} --config {}",
            config.display()
        )
    }
}

/// Far: prints an invitation and waits for near. `address`: where near finds far. `listen`: where that is here.
pub fn invite(
    place: Place,
    address: &str,
    listen: Option<SocketAddr>,
    valid: Duration,
) -> Result<(), String> {
    check_address(address).map_err(|what| format!("--invite: {what}"))?;
    let port = port_of(address)
        .ok_or_else(|| format!("--invite: \"{address}\" is no name or address and port"))?;
    let listen = listen.unwrap_or_else(|| everywhere(port));
    let mut secret = [0; SECRET_BYTES];
    getrandom(&mut secret, GetRandomFlags::empty()).map_err(|error| error.to_string())?;
    let inviting = Inviting {
        place,
        listen,
        secret: Secret(secret),
        until: Instant::now() + valid,
        taken_by: None,
        over: false,
        refused: 0,
        failed: None,
    };
    // Any key shows whether the text is right.
    let any = Identity::generate().public();
    inviting.place.check(&inviting.text(any))?;
    let key = inviting.place.key();
    let (identity, is_new) = keys::make_or_keep(&key)?;
    let unused = Unused::new(&key, is_new);
    let listener = sockets::listener(listen, sockets::From::Peer)
        .map(TcpListener::from)
        .map_err(|error| format!("{listen}: cannot listen there: {error}"))?;
    let invitation = Invitation {
        address: address.to_owned(),
        key: identity.public(),
        secret: inviting.secret.clone(),
    };
    println!("{invitation}");
    eprintln!(
        "On the other machine, within {:.0} minutes: bentpipe-gateway pair INVITATION. It works once; give it to nobody else.",
        (valid.as_secs_f64() / 60.0).max(1.0)
    );
    let until = inviting.until;
    let end = FarEnd::for_any(&identity);
    let (shared, talking) = (
        Arc::new(Mutex::new(inviting)),
        Arc::new(AtomicUsize::new(0)),
    );
    loop {
        if let Ok((stream, from)) = listener.accept() {
            if talking.load(Ordering::Relaxed) >= MOST_AT_ONCE
                || stream.set_nonblocking(false).is_err()
            {
                continue;
            }
            let talk = Talk::new(stream, end.carrier(limits()));
            let (shared, talking) = (Arc::clone(&shared), Arc::clone(&talking));
            talking.fetch_add(1, Ordering::Relaxed);
            thread::spawn(move || {
                hear(talk, from, &shared);
                talking.fetch_sub(1, Ordering::Relaxed);
            });
            continue;
        }
        let inviting = lock(&shared);
        let config = inviting.place.config.display();
        let refused = inviting.refused;
        if let Some(error) = &inviting.failed {
            return Err(error.clone());
        }
        match inviting.taken_by {
            Some(near) if inviting.over || Instant::now() >= until => {
                if !inviting.over {
                    eprintln!("warning: near has not said that its configuration is written");
                }
                unused.forget();
                println!("paired with {near}; wrote {config}; {refused} refused");
                println!("{}", next(&inviting.place.config, Role::Far));
                return Ok(());
            }
            None if Instant::now() >= until => {
                return Err(format!(
                    "the invitation has expired, and nobody took it; {refused} refused"
                ));
            }
            _ => {}
        }
        drop(inviting);
        thread::sleep(LOOK_EVERY);
    }
}

/// Near: takes an invitation.
pub fn accept(place: &Place, invitation: &str, socks5: SocketAddr) -> Result<(), String> {
    let invitation: Invitation = invitation.parse()?;
    let peer = format!(
        "address = \"{}\"\nkey = \"{}\"",
        invitation.address, invitation.key
    );
    let text = place.text(Role::Near, &peer, &format!("socks5 = [\"{socks5}\"]"));
    place.check(&text)?;
    let key = place.key();
    let (identity, is_new) = keys::make_or_keep(&key)?;
    let unused = Unused::new(&key, is_new);
    let address = &invitation.address;
    let found = address
        .to_socket_addrs()
        .map_err(|error| format!("{address}: {error}"))?;
    let mut last = format!("{address}: the name has no address");
    let stream = found.into_iter().find_map(|at| {
        TcpStream::connect_timeout(&at, PATIENCE)
            .map_err(|error| {
                last = format!("{at}: {error}. Far does not wait there: the invitation was used or has expired, or a firewall blocks the TCP port");
            })
            .ok()
    });
    let stream = stream.ok_or(last)?;
    let mut talk = Talk::new(stream, Carrier::near(limits(), invitation.key, &identity));
    let fails = |why: String| format!("{address}: {why}");
    talk.key().map_err(fails)?;
    talk.say(&[&[TAKE], &invitation.secret.0[..]].concat())
        .map_err(fails)?;
    let answer = match talk.message() {
        Ok(answer) => answer,
        Err(why) => {
            // Far may have taken it: it answers the same key again.
            unused.forget();
            return Err(fails(why));
        }
    };
    match answer.split_first() {
        Some((&TAKEN, [])) => unused.forget(),
        Some((&REFUSED, why)) => {
            let why: String = String::from_utf8_lossy(why)
                .chars()
                .filter(|c| !c.is_control())
                .take(200)
                .collect();
            return Err(format!("{address}: far refuses: {why}"));
        }
        _ => return Err(format!("{address}: far gives an answer that is none")),
    }
    place.write(&text)?;
    // Far waits for it until the invitation expires, and no longer.
    let _ = talk.say(&[WRITTEN]);
    let config = place.config.display();
    println!("paired with {}; wrote {config}", invitation.key);
    println!("{}", next(&place.config, Role::Near));
    Ok(())
}
