//! The hosts of a run, and what each has one of.

use bentpipe_base::topology::Seat;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostId {
    Client,
    /// Between the client and the path, in a run that has one.
    Near,
    /// Between the path and the server, in a run that has one.
    Far,
    Server,
}

impl HostId {
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Near => "near",
            Self::Far => "far",
            Self::Server => "server",
        }
    }

    pub(crate) fn at(seat: Seat) -> Self {
        match seat {
            Seat::Client => Self::Client,
            Seat::Near => Self::Near,
            Seat::Far => Self::Far,
            Seat::Server => Self::Server,
        }
    }
}

/// Something that each host of a run has one of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PerHost<T> {
    pub client: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub far: Option<T>,
    pub server: T,
}

impl<T> PerHost<T> {
    /// Makes another of each.
    pub fn try_map<U, E>(
        self,
        mut make: impl FnMut(HostId, T) -> Result<U, E>,
    ) -> Result<PerHost<U>, E> {
        Ok(PerHost {
            client: make(HostId::Client, self.client)?,
            near: self.near.map(|near| make(HostId::Near, near)).transpose()?,
            far: self.far.map(|far| make(HostId::Far, far)).transpose()?,
            server: make(HostId::Server, self.server)?,
        })
    }

    pub fn as_ref(&self) -> PerHost<&T> {
        PerHost {
            client: &self.client,
            near: self.near.as_ref(),
            far: self.far.as_ref(),
            server: &self.server,
        }
    }

    /// `None` for a near or far host that the run does not have.
    pub fn get(&self, host: HostId) -> Option<&T> {
        match host {
            HostId::Client => Some(&self.client),
            HostId::Near => self.near.as_ref(),
            HostId::Far => self.far.as_ref(),
            HostId::Server => Some(&self.server),
        }
    }

    pub fn get_mut(&mut self, host: HostId) -> Option<&mut T> {
        match host {
            HostId::Client => Some(&mut self.client),
            HostId::Near => self.near.as_mut(),
            HostId::Far => self.far.as_mut(),
            HostId::Server => Some(&mut self.server),
        }
    }

    /// In the order in which a packet of the client's meets them.
    pub fn each_mut(&mut self) -> impl Iterator<Item = (HostId, &mut T)> {
        let near = self.near.as_mut().map(|near| (HostId::Near, near));
        let far = self.far.as_mut().map(|far| (HostId::Far, far));
        std::iter::once((HostId::Client, &mut self.client))
            .chain(near)
            .chain(far)
            .chain([(HostId::Server, &mut self.server)])
    }
}

impl<A, B> PerHost<(A, B)> {
    pub fn unzip(self) -> (PerHost<A>, PerHost<B>) {
        let (near, and_near) = self.near.unzip();
        let (far, and_far) = self.far.unzip();
        let ((client, and_client), (server, and_server)) = (self.client, self.server);
        (
            PerHost {
                client,
                near,
                far,
                server,
            },
            PerHost {
                client: and_client,
                near: and_near,
                far: and_far,
                server: and_server,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_near_host_has_none_to_give() {
        let mut hosts = PerHost {
            client: 1,
            near: None,
            far: None,
            server: 2,
        };
        assert_eq!(hosts.get(HostId::Near), None);
        assert_eq!(hosts.get(HostId::Far), None);
        let each: Vec<_> = hosts.each_mut().map(|(host, _)| host).collect();
        assert_eq!(each, [HostId::Client, HostId::Server]);
        (hosts.near, hosts.far) = (Some(3), Some(4));
        let each: Vec<_> = hosts.each_mut().map(|(host, _)| host).collect();
        let all = [HostId::Client, HostId::Near, HostId::Far, HostId::Server];
        assert_eq!(each, all);
    }
}
