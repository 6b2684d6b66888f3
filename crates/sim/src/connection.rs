//! A connection as the world keeps it, at a place in a slab that is used again.

use crate::rows::Role;
use crate::seat::Leg;

#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub generation: u32,
    pub workload: usize,
    /// The latest flow that it was given to.
    pub flow: Option<u64>,
    pub role: Role,
    pub leg: Leg,
    pub open: bool,
}
