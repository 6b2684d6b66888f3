//! What a gateway says of itself: `bentpipe-gateway status`, its JSON, and Prometheus' text format.

mod model;
mod prometheus;
mod rates;
mod server;
mod text;

pub use model::{Standing, Totals, UserTotals};
pub use rates::Rates;
pub use server::{Answers, Served, ask};

#[cfg(test)]
mod tests;
