//! What the RFCs and Linux say a TCP does, as packet scripts.

mod acknowledging;
mod closing;
mod ecn;
mod hostile;
mod recovery;
mod reordering;
mod script;
mod timeouts;
mod windows;

use script::Script;

/// An established connection at 100 ms, Reno, everything else as Linux's defaults.
fn plain() -> Script {
    Script::new(100, |_| {})
}
