//! What each local user has sent and was given. Their number is bounded: who was idle for longest gives up its place, and goes into the sum of the
//! others.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::net::IpAddr;

/// So many users have figures of their own.
pub const MOST_USERS: usize = 256;

/// What hosts did. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserFigures {
    /// Connections: accepted at near, opened at far.
    pub connections: u64,
    /// Of connections: bytes that the user's hosts gave, and that they took. At far the hosts are the servers, so the two change places.
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
    /// The same of datagrams.
    pub datagrams_sent: u64,
    pub datagrams_delivered: u64,
    pub datagram_bytes_sent: u64,
    pub datagram_bytes_delivered: u64,
}

impl UserFigures {
    pub fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.sent_bytes += other.sent_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.datagrams_sent += other.datagrams_sent;
        self.datagrams_delivered += other.datagrams_delivered;
        self.datagram_bytes_sent += other.datagram_bytes_sent;
        self.datagram_bytes_delivered += other.datagram_bytes_delivered;
    }

    /// Whether counting can go on from these without an overflow: they may come from a file.
    pub fn are_plausible(&self) -> bool {
        [
            self.connections,
            self.sent_bytes,
            self.delivered_bytes,
            self.datagrams_sent,
            self.datagrams_delivered,
            self.datagram_bytes_sent,
            self.datagram_bytes_delivered,
        ]
        .into_iter()
        .all(|it| it < 1 << 50)
    }

    /// Bytes, both ways.
    pub fn bytes(&self) -> u64 {
        self.sent_bytes
            + self.delivered_bytes
            + self.datagram_bytes_sent
            + self.datagram_bytes_delivered
    }
}

#[derive(Clone, Debug)]
struct Place {
    figures: UserFigures,
    /// When the user did something last, in the order of all.
    at: u64,
}

/// All users: those with figures of their own, and the sum of the others.
#[derive(Clone, Debug, Default)]
pub struct Users {
    places: HashMap<IpAddr, Place>,
    others: UserFigures,
    others_count: u64,
    clock: u64,
}

impl Users {
    /// Users that are known from before, those who were active last at the end.
    pub fn known(
        users: impl IntoIterator<Item = (IpAddr, UserFigures)>,
        others: (u64, UserFigures),
    ) -> Self {
        let mut known = Self {
            others_count: others.0,
            others: others.1,
            ..Self::default()
        };
        for (user, figures) in users {
            known.of(user).add(&figures);
        }
        known
    }

    /// The figures of this user, who does something now.
    pub fn of(&mut self, user: IpAddr) -> &mut UserFigures {
        if self.places.len() >= MOST_USERS && !self.places.contains_key(&user) {
            let idlest = self.places.iter().min_by_key(|(_, place)| place.at);
            let idlest = idlest.map(|(&user, _)| user);
            if let Some(place) = idlest.and_then(|user| self.places.remove(&user)) {
                self.others.add(&place.figures);
                self.others_count += 1;
            }
        }
        self.clock += 1;
        let at = self.clock;
        let place = self.places.entry(user).or_insert_with(|| Place {
            figures: UserFigures::default(),
            at,
        });
        place.at = at;
        &mut place.figures
    }

    /// Those with figures of their own, who was active last at the end.
    pub fn each(&self) -> Vec<(IpAddr, UserFigures)> {
        let mut places: Vec<_> = self.places.iter().collect();
        places.sort_by_key(|(_, place)| place.at);
        let each = places.into_iter();
        each.map(|(&user, place)| (user, place.figures)).collect()
    }

    /// How often a user has given up its place, and the sum of what they did.
    pub fn others(&self) -> (u64, UserFigures) {
        (self.others_count, self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn user(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn who_was_idle_for_longest_goes_into_the_sum_and_nothing_is_lost() {
        let mut users = Users::default();
        for number in 0..MOST_USERS as u32 {
            users.of(user(number)).sent_bytes += 10;
        }
        // The first one is active again, so the second one has to go.
        users.of(user(0)).sent_bytes += 1;
        users.of(user(9999)).connections += 1;
        let each = users.each();
        assert_eq!(each.len(), MOST_USERS);
        assert!(!each.iter().any(|it| it.0 == user(1)));
        assert_eq!(each.last().unwrap().0, user(9999));
        let (count, others) = users.others();
        assert_eq!((count, others.sent_bytes), (1, 10));
        let all: u64 = each.iter().map(|it| it.1.bytes()).sum();
        assert_eq!(all + others.bytes(), 10 * MOST_USERS as u64 + 1);
    }

    #[test]
    fn known_users_go_on_where_they_were() {
        let figures = UserFigures {
            delivered_bytes: 5,
            ..UserFigures::default()
        };
        let mut users = Users::known([(user(1), figures), (user(2), figures)], (3, figures));
        users.of(user(1)).delivered_bytes += 1;
        assert_eq!(
            users.each().last(),
            Some(&(
                user(1),
                UserFigures {
                    delivered_bytes: 6,
                    ..figures
                }
            ))
        );
        assert_eq!(users.others(), (3, figures));
    }
}
