//! The configuration file: one short TOML file for each gateway.

use crate::access::Rule;
use crate::quantity;
use bentpipe_carrier::identity::{Identity, PublicKey};
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Which end of the path a gateway stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Beside the users: it takes their connections.
    Near,
    /// Beside the Internet: it opens the connections that near asks for.
    Far,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Near => "near",
            Self::Far => "far",
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub role: Role,
    /// This gateway's private key: a PEM file.
    pub key: PathBuf,
    pub peer: Peer,
    pub path: PathSettings,
    #[serde(default)]
    pub listen: Listen,
    pub router: Option<Router>,
    #[serde(default)]
    pub access: AccessRules,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub status: Status,
}

/// The other gateway.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Where near finds far: a name or an address, and a port.
    pub address: Option<String>,
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSettings {
    /// What this gateway sends with.
    #[serde(deserialize_with = "rate")]
    pub rate: Rate,
    /// Repairs beside what is sent: a share of it, or as many as the path's loss needs.
    #[serde(default)]
    pub redundancy: Redundancy,
    /// The UDP payload that the path certainly takes, in bytes.
    #[serde(default = "udp_payload")]
    pub udp_payload: u16,
}

fn udp_payload() -> u16 {
    1200
}

/// How fast a gateway sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    Fixed(u64),
    Capped(u64),
    Fair,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Redundancy {
    #[default]
    Adaptive,
    Share(f64),
}

impl<'de> Deserialize<'de> for Redundancy {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected \"adaptive\", or a share from 0 to 1")]
        enum Either {
            Share(f64),
            Name(Adaptive),
        }
        #[derive(Deserialize)]
        enum Adaptive {
            #[serde(rename = "adaptive")]
            Adaptive,
        }
        match Either::deserialize(from)? {
            Either::Share(share) if (0.0..=1.0).contains(&share) => Ok(Self::Share(share)),
            Either::Share(share) => Err(serde::de::Error::custom(format!(
                "got {share}, expected \"adaptive\", or a share from 0 to 1"
            ))),
            Either::Name(Adaptive::Adaptive) => Ok(Self::Adaptive),
        }
    }
}

/// Where this gateway listens.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// Far: where near reaches it, UDP and TCP.
    pub peer: Option<SocketAddr>,
    /// Near: the ways in.
    #[serde(default)]
    pub socks5: Vec<SocketAddr>,
    #[serde(default)]
    pub http_connect: Vec<SocketAddr>,
    #[serde(default)]
    pub tproxy: Vec<SocketAddr>,
}

/// Near: the rules of this router, which hand users' connections to the gateway.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// What comes in here is taken.
    pub interfaces: Vec<String>,
    /// Destinations that are not: their connections go past the gateway.
    #[serde(default)]
    pub except: Vec<IpNet>,
    /// New connections go past the gateway, too, while the other one has not been heard for so long, in seconds. Without it they wait.
    pub bypass_after_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRules {
    #[serde(default)]
    pub allow: Vec<Rule>,
    #[serde(default)]
    pub deny: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Hosts' connections that may be open at once.
    pub connections: usize,
    /// What the session may take at most, in bytes.
    #[serde(deserialize_with = "size")]
    pub memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            memory: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Status {
    /// Where `bentpipe-gateway status` asks. A socket in the file system.
    pub socket: Option<PathBuf>,
    /// Where Prometheus finds the figures: an address of this machine.
    pub prometheus: Option<SocketAddr>,
    /// A file that keeps the figures of users and of the whole across restarts.
    pub state: Option<PathBuf>,
}

fn public_key<'de, D: Deserializer<'de>>(from: D) -> Result<PublicKey, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(serde::de::Error::custom)
}

fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    quantity::size(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Rate, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Capped {
        cap: String,
    }
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected a rate such as \"16 Mbit/s\", \"fair\", or { cap = \"16 Mbit/s\" }"
    )]
    enum Either {
        Text(String),
        Capped(Capped),
    }
    let bits = |text: &str| quantity::rate(text).map_err(serde::de::Error::custom);
    match Either::deserialize(from)? {
        Either::Text(text) if text == "fair" => Ok(Rate::Fair),
        Either::Text(text) => bits(&text).map(Rate::Fixed),
        Either::Capped(capped) => bits(&capped.cap).map(Rate::Capped),
    }
}

/// What is wrong with a configuration: one message that names the file, and the line where there is one.
#[derive(Debug)]
pub struct ConfigError(pub String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// A configuration that was read and checked, with its key.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub path: PathBuf,
    pub file: File,
    pub identity: Identity,
    /// What works, but should be changed.
    pub warnings: Vec<String>,
}

impl Loaded {
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| ConfigError(format!("{name}: cannot read it: {error}")))?;
        let file = File::parse(&text).map_err(|error| ConfigError(format!("{name}{error}")))?;
        let key = path.parent().unwrap_or(Path::new(".")).join(&file.key);
        let (identity, warnings) = match credential(&file.key) {
            // systemd lets nobody else read it, by an access list that its mode does not show.
            Some(given) => (read_key(&given)?.0, Vec::new()),
            None => read_key(&key)?,
        };
        if identity.public() == file.peer.key {
            let wrong =
                "peer.key: this is the gateway's own public key; expected the other gateway's";
            return Err(ConfigError(format!("{name}: {wrong}")));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            identity,
            warnings,
        })
    }
}

/// The private key as systemd gives it to a service that may not read the file itself: `LoadCredential=`, by the file's name.
fn credential(key: &Path) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("CREDENTIALS_DIRECTORY")?);
    Some(folder.join(key.file_name()?)).filter(|given| given.exists())
}

impl Loaded {
    /// Where figures are kept. A relative path is in systemd's directory for the state of a service, or else beside the configuration.
    pub fn state_path(&self) -> Option<PathBuf> {
        let state = self.file.status.state.as_ref()?;
        let folder = std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
        let folder = folder.as_deref().or_else(|| self.path.parent());
        Some(folder.unwrap_or(Path::new(".")).join(state))
    }
}

/// A private key, and a warning where others may read it.
fn read_key(path: &Path) -> Result<(Identity, Vec<String>), ConfigError> {
    let name = path.display();
    let wrong = |what: String| ConfigError(format!("{name}: {what}"));
    let text = fs::read_to_string(path).map_err(|error| {
        wrong(format!(
            "cannot read the private key: {error}. `bentpipe-gateway keys` makes one"
        ))
    })?;
    let identity = Identity::from_pem(&text).map_err(|error| wrong(error.to_string()))?;
    let mode = fs::metadata(path).map_or(0, |about| about.permissions().mode());
    let warnings = (mode & 0o077 != 0).then(|| {
        format!("{name}: other users may read this private key; `chmod 600 {name}` stops that")
    });
    Ok((identity, warnings.into_iter().collect()))
}

/// Where in a text something is wrong: ":line: what".
fn place(text: &str, error: &toml::de::Error) -> String {
    let line = error
        .span()
        .map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let what = error.message().trim();
    line.map_or_else(|| format!(": {what}"), |line| format!(":{line}: {what}"))
}

impl File {
    /// Reads and checks the text of a file. An error begins with ":" and the line where there is one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| place(text, &error))?;
        file.check().map_err(|what| format!(": {what}"))?;
        Ok(file)
    }

    fn check_router(&self, router: &Router) -> Result<(), String> {
        if self.listen.tproxy.is_empty() {
            return Err("[router] needs listen.tproxy, such as tproxy = [\"127.0.0.1:4100\", \"[::1]:4100\"]: its rules hand connections to it".into());
        }
        for family in [SocketAddr::is_ipv4, SocketAddr::is_ipv6] {
            let found = self.listen.tproxy.iter().filter(|at| family(at)).count();
            if found > 1 {
                return Err("[router] hands connections to one address of each family, but listen.tproxy has more".into());
            }
        }
        if router.interfaces.is_empty() {
            return Err("router.interfaces is empty: expected the interfaces that users are behind, such as [\"lan0\"]".into());
        }
        for name in &router.interfaces {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
            if name.is_empty() || name.len() > 15 || !name.chars().all(plain) {
                return Err(format!(
                    "router.interfaces: \"{name}\" is no name of an interface"
                ));
            }
        }
        if router
            .bypass_after_s
            .is_some_and(|after| !(1.0..=86_400.0).contains(&after))
        {
            return Err("router.bypass_after_s: expected 1 to 86400 s".into());
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let listen = &self.listen;
        let ways_in = listen.socks5.len() + listen.http_connect.len() + listen.tproxy.len();
        match self.role {
            Role::Near => {
                let address = self.peer.address.as_deref();
                let address = address.ok_or("peer.address is missing: near has to know where far is, such as \"far.example.net:4433\"")?;
                let port = address
                    .rsplit_once(':')
                    .map(|(_, port)| port.parse::<u16>());
                if !matches!(port, Some(Ok(1..))) {
                    return Err(format!(
                        "peer.address: got \"{address}\", expected a name or an address with its port, such as \"far.example.net:4433\""
                    ));
                }
                if listen.peer.is_some() {
                    return Err(
                        "listen.peer is far's: near connects to far and waits for nobody there"
                            .into(),
                    );
                }
                if ways_in == 0 {
                    return Err("[listen] has no way in: near needs socks5, http_connect or tproxy, such as socks5 = [\"127.0.0.1:1080\"]".into());
                }
                if ways_in > 8 {
                    return Err(format!(
                        "[listen] has {ways_in} addresses, expected 8 at most"
                    ));
                }
                if !(self.access.allow.is_empty() && self.access.deny.is_empty()) {
                    return Err("[access] is far's: far decides where connections go".into());
                }
            }
            Role::Far => {
                if listen.peer.is_none() {
                    return Err("listen.peer is missing: far has to know where near reaches it, such as peer = \"[::]:4433\"".into());
                }
                if ways_in > 0 {
                    return Err("[listen] has a way in for users (socks5, http_connect or tproxy): these are near's".into());
                }
                if self.peer.address.is_some() {
                    return Err(
                        "peer.address is near's: far waits for near, from any address".into(),
                    );
                }
            }
        }
        if let Some(router) = &self.router {
            self.check_router(router)?;
        }
        for way in listen.socks5.iter().chain(&listen.http_connect) {
            if way.ip().is_unspecified() {
                return Err(format!(
                    "[listen]: {way} is open to every network; expected an address of this machine, such as 127.0.0.1:{}",
                    way.port()
                ));
            }
        }
        if let Some(at) = self.status.prometheus.filter(|at| !at.ip().is_loopback()) {
            return Err(format!(
                "status.prometheus: got {at}, expected a loopback address such as 127.0.0.1:{}",
                at.port()
            ));
        }
        if !(1200..=65_000).contains(&self.path.udp_payload) {
            return Err(format!(
                "path.udp_payload: got {}, expected 1200 to 65000 bytes",
                self.path.udp_payload
            ));
        }
        if self.limits.connections == 0 {
            return Err("limits.connections: got 0, expected 1 or more".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> String {
        Identity::from_seed([7; 32]).public().to_string()
    }

    fn near() -> String {
        format!(
            "role = \"near\"\nkey = \"gateway.key\"\n[peer]\naddress = \"far.example.net:4433\"\nkey = \"{}\"\n\
             [path]\nrate = \"16 Mbit/s\"\n[listen]\nsocks5 = [\"127.0.0.1:1080\"]\n",
            key()
        )
    }

    #[test]
    fn a_short_file_is_enough() {
        let file = File::parse(&near()).unwrap();
        assert_eq!(file.path.rate, Rate::Fixed(16_000_000));
        assert_eq!(file.path.redundancy, Redundancy::Adaptive);
        assert_eq!(file.limits.connections, 10_000);
        let far = format!(
            "role = \"far\"\nkey = \"k\"\n[peer]\nkey = \"{}\"\n[path]\nrate = {{ cap = \"1 Gbit/s\" }}\n\
             redundancy = 0.1\n[listen]\npeer = \"[::]:4433\"\n[access]\nallow = [\"10.0.0.0/8 port 443\"]\n",
            key()
        );
        let far = File::parse(&far).unwrap();
        assert_eq!(far.path.rate, Rate::Capped(1_000_000_000));
        assert_eq!(far.access.allow.len(), 1);
    }

    #[test]
    fn each_mistake_has_a_message_that_names_its_place() {
        let change = |from: &str, to: &str| {
            let text = near();
            assert!(text.contains(from));
            File::parse(&text.replace(from, to)).unwrap_err()
        };
        for (from, to, expected) in [
            ("\"near\"", "\"middle\"", ":1: unknown variant `middle`"),
            (
                "rate = \"16 Mbit/s\"",
                "rate = \"16\"",
                ":7: got \"16\", expected a rate",
            ),
            (
                "rate = \"16 Mbit/s\"",
                "rate = 16",
                ":7: expected a rate such as",
            ),
            (
                "rate = \"16 Mbit/s\"",
                "rats = \"16 Mbit/s\"",
                ":7: unknown field `rats`",
            ),
            ("rate = \"16 Mbit/s\"", "", ":6: missing field `rate`"),
            (
                "far.example.net:4433",
                "far.example.net",
                "peer.address: got",
            ),
            ("127.0.0.1:1080", "0.0.0.0:1080", "open to every network"),
            ("127.0.0.1:1080", "localhost", ":9: invalid socket address"),
            (
                "socks5 = [\"127.0.0.1:1080\"]",
                "",
                "[listen] has no way in",
            ),
            (
                "role = \"near\"",
                "role = \"far\"",
                "listen.peer is missing",
            ),
            ("[path]", "[path]\nredundancy = 2.0", "from 0 to 1"),
            (
                "[path]",
                "[status]\nprometheus = \"192.0.2.1:9\"\n[path]",
                "expected a loopback",
            ),
            (
                "[path]",
                "[limits]\nmemory = \"64\"\n[path]",
                "expected a size",
            ),
            ("[path]", "[path", ":6:"),
            (&key(), "abc", ":5: invalid base64"),
        ] {
            let error = change(from, to);
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn a_key_that_others_may_read_is_warned_of_and_ones_own_is_no_peers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        let key = folder.path().join("gateway.key");
        fs::write(&path, near()).unwrap();
        let error = Loaded::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("gateway.key: cannot read the private key"),
            "{error}"
        );
        fs::write(&key, Identity::from_seed([8; 32]).to_pem()).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(Loaded::read(&path).unwrap().warnings.len(), 1);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(Loaded::read(&path).unwrap().warnings.is_empty());
        fs::write(&key, Identity::from_seed([7; 32]).to_pem()).unwrap();
        let error = Loaded::read(&path).unwrap_err().to_string();
        assert!(error.contains("own public key"), "{error}");
    }
}
