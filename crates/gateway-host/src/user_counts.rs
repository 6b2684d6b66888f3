//! How many of something each local user has, and the most that one may have.

use std::collections::HashMap;

#[derive(Debug)]
pub(crate) struct UserCounts {
    pub most: usize,
    /// Only of users who have some.
    counts: HashMap<u64, usize>,
}

impl UserCounts {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            counts: HashMap::new(),
        }
    }

    pub fn is_full(&self, user: u64) -> bool {
        self.counts.get(&user).is_some_and(|&it| it >= self.most)
    }

    pub fn add(&mut self, user: u64) {
        *self.counts.entry(user).or_default() += 1;
    }

    pub fn remove(&mut self, user: u64) {
        if let Some(count) = self.counts.get_mut(&user) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_full_at_the_most_and_nobody_is_kept_who_has_none() {
        let mut counts = UserCounts::new(2);
        counts.add(7);
        assert!(!counts.is_full(7));
        counts.add(7);
        counts.add(8);
        assert!(counts.is_full(7) && !counts.is_full(8) && !counts.is_full(9));
        for user in [7, 8, 7] {
            counts.remove(user);
        }
        assert!(!counts.is_full(7) && counts.counts.is_empty());
    }
}
