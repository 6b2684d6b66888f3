//! How a sender is set, and which settings cannot work.

use crate::encoder::{PACKET_MAX_BYTES, WINDOW_MAX_SYMBOLS};
use crate::policy::{Policy, TitrationConfig};
use bentpipe_base::Nanos;
use bentpipe_reading::in_words;
use core::fmt;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// A repair covers so many of the newest packets, at most [`WINDOW_MAX_SYMBOLS`].
    pub window_packets: u32,
    /// Packets that are kept to be sent again when they are asked for: those of a round trip and more. At least the window.
    pub kept_packets: u32,
    pub packet_max_bytes: u32,
    pub policy: Policy,
    /// The share of the window that a repair combines, in eighths.
    pub density_eighths: u8,
    /// After so long without a packet the last ones are covered by repairs that are not due yet.
    pub end_of_burst: Nanos,
    /// What is recovered later than this is of no use: the exit's hold. The adaptive policy plans for it.
    pub recover_within: Nanos,
    /// Repairs wait until the queue has room. Without it they are sent when they are due.
    pub titration: Option<TitrationConfig>,
}

/// A sender that cannot work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderConfigError {
    Window(u32),
    Kept {
        kept: u32,
        window: u32,
    },
    PacketBytes(u32),
    /// Repairs per packet; a ratio of 1 and more would send everything twice.
    Ratio(f64),
    Residual(f64),
    InitialLoss(f64),
    DensityEighths(u8),
    EndOfBurst(Nanos),
    RecoverWithin(Nanos),
    TitrationRate(u64),
}

impl fmt::Display for SenderConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Window(window) => write!(
                f,
                "window of {window} packets, expected 1 to {WINDOW_MAX_SYMBOLS}"
            ),
            Self::Kept { kept, window } => write!(
                f,
                "{kept} packets are kept, expected at least the window of {window}"
            ),
            Self::PacketBytes(bytes) => write!(
                f,
                "packets of up to {bytes} bytes, expected 1 to {PACKET_MAX_BYTES}"
            ),
            Self::Ratio(ratio) => write!(
                f,
                "{} repairs per packet, expected 0 or more and less than 1",
                in_words(*ratio)
            ),
            Self::Residual(residual) => write!(
                f,
                "residual of {}, expected more than 0 and at most 0.5",
                in_words(*residual)
            ),
            Self::InitialLoss(loss) => {
                let loss = in_words(*loss);
                write!(f, "initial loss of {loss}, expected 0 to 0.5")
            }
            Self::DensityEighths(eighths) => {
                write!(f, "density of {eighths} eighths, expected 1 to 8")
            }
            Self::EndOfBurst(after) => {
                write!(f, "end of burst after {} ns, expected 0 or more", after.0)
            }
            Self::RecoverWithin(within) => {
                write!(f, "recovery within {} ns, expected more than 0", within.0)
            }
            Self::TitrationRate(rate) => {
                write!(f, "titration at {rate} bit/s, expected more than 0")
            }
        }
    }
}

impl core::error::Error for SenderConfigError {}

impl SenderConfig {
    pub(super) fn check(&self) -> Result<(), SenderConfigError> {
        use SenderConfigError as E;
        let check = |right: bool, error: E| if right { Ok(()) } else { Err(error) };
        let window = self.window_packets;
        let kept = self.kept_packets;
        check(
            (1..=WINDOW_MAX_SYMBOLS as u32).contains(&window),
            E::Window(window),
        )?;
        check(kept >= window, E::Kept { kept, window })?;
        let bytes = self.packet_max_bytes;
        check(
            (1..=PACKET_MAX_BYTES as u32).contains(&bytes),
            E::PacketBytes(bytes),
        )?;
        match self.policy {
            Policy::Off => {}
            Policy::Fixed { ratio } => check((0.0..1.0).contains(&ratio), E::Ratio(ratio))?,
            Policy::Adaptive {
                residual,
                initial_loss,
                max_ratio,
            } => {
                check(residual > 0.0 && residual <= 0.5, E::Residual(residual))?;
                check(
                    (0.0..=0.5).contains(&initial_loss),
                    E::InitialLoss(initial_loss),
                )?;
                check((0.0..1.0).contains(&max_ratio), E::Ratio(max_ratio))?;
            }
        }
        let eighths = self.density_eighths;
        check((1..=8).contains(&eighths), E::DensityEighths(eighths))?;
        check(
            self.end_of_burst >= Nanos::ZERO,
            E::EndOfBurst(self.end_of_burst),
        )?;
        check(
            self.recover_within > Nanos::ZERO,
            E::RecoverWithin(self.recover_within),
        )?;
        let rate = self.titration.map_or(1, |it| it.rate_bit_s);
        check(rate > 0, E::TitrationRate(rate))
    }
}
