//! The configuration file: one short TOML file for each gateway.

mod check;
mod load;
mod place;
mod values;

pub use check::check_address;
pub use load::{ConfigError, Loaded};
pub use values::{Rate, Redundancy, TakenUdp};

use crate::access::Rule;
use bentpipe_carrier::identity::PublicKey;
use ipnet::IpNet;
use place::place;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use values::{public_key, rate, size};

/// Which end of the path a gateway stands at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Beside the users: it takes their connections.
    #[default]
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
    pub tun: Option<Tun>,
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
    /// Destinations that are not: what is for them goes past the gateway.
    #[serde(default)]
    pub except: Vec<IpNet>,
    /// UDP that is taken, too.
    #[serde(default)]
    pub udp: TakenUdp,
    /// New connections go past the gateway, too, while the other one has not been heard for so long, in seconds. Without it they wait.
    pub bypass_after_s: Option<f64>,
}

/// A device for whole IP packets, at both gateways.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tun {
    /// The device's own addresses, each with the length of its network.
    pub address: Vec<IpNet>,
    #[serde(default = "tun_device")]
    pub device: String,
    /// Networks of users: packets from them leave near, and packets to them come back. That of the devices is one of them.
    #[serde(default)]
    pub users: Vec<IpNet>,
    /// Near: what comes in here is routed into the device.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// Near: where it is routed there. Without it: everywhere.
    pub routes: Option<Vec<IpNet>>,
    /// Far: whether users have far's address towards others. Without it they do.
    pub masquerade: Option<bool>,
    /// Near: packets are routed past the device while the other gateway has not been heard for so long, in seconds. Without it they are lost.
    pub bypass_after_s: Option<f64>,
    /// The longest packet, in bytes. Without it: what crosses in one piece.
    pub mtu: Option<u16>,
}

fn tun_device() -> String {
    "bentpipe0".into()
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
    /// Hosts' connections that may be open at once, and as many UDP associations.
    pub connections: usize,
    /// UDP associations that a user may have open at once.
    pub user_associations: usize,
    /// What the session may take at most, in bytes.
    #[serde(deserialize_with = "size")]
    pub memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            user_associations: 1_000,
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

impl File {
    /// Reads and checks the text of a file. An error begins with ":" and the line where there is one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| place(text, &error))?;
        file.check().map_err(|what| format!(": {what}"))?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests;
