//! What can be wrong with a specification.

use bentpipe_base::topology::TopologyError;
use bentpipe_tcp::congestion::ControlError;

/// Why a specification cannot be run.
#[derive(Debug)]
pub enum SpecError {
    Pipe(bentpipe_path::ConfigError),
    CongestionControl(ControlError),
    Mtu(u32),
    Endless,
    /// A workload's field, and what it should be.
    Workload(String),
    Topology(TopologyError),
    /// A box's kind or parameter, and what it should be.
    Box(String),
}

impl core::fmt::Display for SpecError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Pipe(error) => error.fmt(f),
            Self::CongestionControl(error) => error.fmt(f),
            Self::Workload(why) | Self::Box(why) => f.write_str(why),
            Self::Topology(error) => error.fmt(f),
            Self::Mtu(mtu) => write!(f, "mtu {mtu} is not within 576 to 65535"),
            Self::Endless => {
                write!(
                    f,
                    "no duration is set and a workload has neither size nor time"
                )
            }
        }
    }
}

impl core::error::Error for SpecError {}

impl From<ControlError> for SpecError {
    fn from(error: ControlError) -> Self {
        Self::CongestionControl(error)
    }
}

impl From<bentpipe_path::ConfigError> for SpecError {
    fn from(error: bentpipe_path::ConfigError) -> Self {
        Self::Pipe(error)
    }
}

impl From<TopologyError> for SpecError {
    fn from(error: TopologyError) -> Self {
        Self::Topology(error)
    }
}
