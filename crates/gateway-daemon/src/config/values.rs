//! Values of the configuration that are more than a word or a number.

use crate::quantity;
use bentpipe_carrier::identity::PublicKey;
use serde::{Deserialize, Deserializer};
use std::num::NonZeroU16;

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

/// Which UDP of users is taken, by the destination's port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TakenUdp {
    #[default]
    Nothing,
    /// At least one.
    Ports(Vec<u16>),
    All,
}

impl<'de> Deserialize<'de> for TakenUdp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "expected \"all\", or ports from 1 to 65535 such as [53, 443]"
        )]
        enum Either {
            Name(All),
            Ports(Vec<NonZeroU16>),
        }
        #[derive(Deserialize)]
        enum All {
            #[serde(rename = "all")]
            All,
        }
        Ok(match Either::deserialize(from)? {
            Either::Name(All::All) => Self::All,
            Either::Ports(ports) if ports.is_empty() => Self::Nothing,
            Either::Ports(ports) => Self::Ports(ports.into_iter().map(NonZeroU16::get).collect()),
        })
    }
}

pub(super) fn public_key<'de, D: Deserializer<'de>>(from: D) -> Result<PublicKey, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(serde::de::Error::custom)
}

pub(super) fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    quantity::size(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

pub(super) fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Rate, D::Error> {
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
