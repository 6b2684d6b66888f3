//! The smallest scenario that still fails.

use crate::scenario::Scenario;

/// Leaves out part after part, as long as what is left fails.
pub fn shrink(mut scenario: Scenario, fails: impl Fn(&Scenario) -> bool) -> Scenario {
    loop {
        let smaller = scenario.smaller();
        let Some(less) = smaller.into_iter().find(&fails) else {
            return scenario;
        };
        scenario = less;
    }
}
