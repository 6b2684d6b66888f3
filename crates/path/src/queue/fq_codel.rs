//! FQ-CoDel: a queue per flow under `CoDel`, served by deficit round robin with new queues first (RFC 8290).
//!
//! Follows the RFC (section 4), with these choices:
//! 1. The limit is the pipe's, in bytes or packets; on overflow one packet at a time is dropped from the head of the
//!    queue with the most bytes until the rest fits. Linux drops up to 64 at once to save time.
//! 2. The quantum is the MTU where nothing is given: lengths here are without the hardware's header (RFC: 1514).
//! 3. `CoDel` spares the last MTU of all queues together and not of each (as Linux, `net/sched/sch_fq_codel.c`).
//! 4. The hash of the flow key is perturbed by the run's seed.

use super::codel::{CodelParameters, CodelState, Source};
use super::{QueueDiscipline, Room, Tally, Waiting};
use crate::error::{ConfigError, positive};
use crate::packet::{FlowKey, Packet};
use crate::time::Time;
use crate::totals::Count;

/// RFC 8290, section 5.2.
const DEFAULT_FLOWS: u32 = 1024;
/// As Linux allows.
const MOST_FLOWS: u32 = 65_536;
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct FqCodel<P> {
    flows: Vec<FlowQueue>,
    store: Store<P>,
    new_flows: List,
    old_flows: List,
    quantum: i64,
    parameters: CodelParameters,
    perturbation: u64,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    packets: List,
    bytes: u64,
    deficit: i64,
    control: CodelState,
    /// In the list of new or of old flows.
    scheduled: bool,
    next: u32,
}

/// A chain of indices; what comes next is kept by the links themselves.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
};

/// The packets of all queues: one vector, linked, so that a new flow allocates nothing.
#[derive(Debug)]
struct Store<P> {
    links: Vec<ListEntry<P>>,
    free: u32,
    depth: Count,
}

#[derive(Debug)]
struct ListEntry<P> {
    packet: Option<Waiting<P>>,
    next: u32,
}

impl<P> Store<P> {
    fn push(&mut self, list: &mut List, packet: Waiting<P>) {
        self.depth.add(packet.bytes);
        let link = ListEntry {
            packet: Some(packet),
            next: NONE,
        };
        let at = if self.free == NONE {
            self.links.push(link);
            (self.links.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.links[at as usize].next;
            self.links[at as usize] = link;
            at
        };
        if list.last == NONE {
            list.first = at;
        } else {
            self.links[list.last as usize].next = at;
        }
        list.last = at;
    }

    fn pop(&mut self, list: &mut List) -> Option<Waiting<P>> {
        if list.first == NONE {
            return None;
        }
        let at = list.first;
        let link = &mut self.links[at as usize];
        let packet = link.packet.take()?;
        list.first = link.next;
        if list.first == NONE {
            list.last = NONE;
        }
        link.next = self.free;
        self.free = at;
        self.depth.remove(packet.bytes);
        Some(packet)
    }
}

/// One flow's queue, as `CoDel` sees it.
struct OneFlow<'a, P> {
    packets: &'a mut List,
    bytes: &'a mut u64,
    store: &'a mut Store<P>,
}

impl<P> Source<P> for OneFlow<'_, P> {
    fn pop(&mut self) -> Option<Waiting<P>> {
        let packet = self.store.pop(self.packets)?;
        *self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.store.depth.bytes
    }
}

impl<P> FqCodel<P> {
    pub fn new(
        flows: Option<u32>,
        quantum_bytes: Option<u32>,
        parameters: CodelParameters,
        perturbation: u64,
    ) -> Result<Self, ConfigError> {
        let flows = positive("queue.discipline.flows", flows.unwrap_or(DEFAULT_FLOWS))?;
        if flows > MOST_FLOWS {
            let wanted = "at most 65536 queues";
            return Err(ConfigError::new("queue.discipline.flows", flows, wanted));
        }
        let quantum = positive(
            "queue.discipline.quantum_bytes",
            quantum_bytes.unwrap_or(parameters.mtu),
        )?;
        let flow = FlowQueue {
            packets: EMPTY,
            bytes: 0,
            deficit: 0,
            control: CodelState::default(),
            scheduled: false,
            next: NONE,
        };
        Ok(Self {
            flows: vec![flow; flows as usize],
            store: Store {
                links: Vec::new(),
                free: NONE,
                depth: Count::default(),
            },
            new_flows: EMPTY,
            old_flows: EMPTY,
            quantum: i64::from(quantum),
            parameters,
            perturbation,
        })
    }

    fn place(&self, key: FlowKey) -> u32 {
        let mixed = (key.0 ^ self.perturbation).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((u128::from(mixed) * self.flows.len() as u128) >> 64) as u32
    }

    fn schedule(flows: &mut [FlowQueue], list: &mut List, place: u32) {
        flows[place as usize].next = NONE;
        if list.last == NONE {
            list.first = place;
        } else {
            flows[list.last as usize].next = place;
        }
        list.last = place;
    }

    fn unschedule_first(flows: &[FlowQueue], list: &mut List) {
        list.first = flows[list.first as usize].next;
        if list.first == NONE {
            list.last = NONE;
        }
    }

    /// The queue with the most bytes; it is scheduled, for it is not empty.
    fn fattest(&self) -> Option<u32> {
        let mut fattest = None;
        let mut most = 0;
        for list in [self.new_flows, self.old_flows] {
            let mut at = list.first;
            while at != NONE {
                let flow = &self.flows[at as usize];
                if flow.bytes > most {
                    most = flow.bytes;
                    fattest = Some(at);
                }
                at = flow.next;
            }
        }
        fattest
    }
}

impl<P: Packet> QueueDiscipline<P> for FqCodel<P> {
    fn enqueue(&mut self, _now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally) {
        let place = self.place(arrival.packet.flow());
        let flow = &mut self.flows[place as usize];
        flow.bytes += u64::from(arrival.bytes);
        self.store.push(&mut flow.packets, arrival);
        if !flow.scheduled {
            flow.scheduled = true;
            flow.deficit = self.quantum;
            Self::schedule(&mut self.flows, &mut self.new_flows, place);
        }
        while room.exceeded_by(self.store.depth) {
            let Some(fattest) = self.fattest() else {
                break;
            };
            let flow = &mut self.flows[fattest as usize];
            let Some(dropped) = self.store.pop(&mut flow.packets) else {
                break;
            };
            flow.bytes -= u64::from(dropped.bytes);
            tally.tail.add(dropped.bytes);
        }
    }

    fn dequeue(&mut self, now: Time, tally: &mut Tally) -> Option<Waiting<P>> {
        loop {
            let from_new = self.new_flows.first != NONE;
            let list = if from_new {
                &mut self.new_flows
            } else {
                &mut self.old_flows
            };
            let place = list.first;
            if place == NONE {
                return None;
            }
            let flow = &mut self.flows[place as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                Self::unschedule_first(&self.flows, list);
                Self::schedule(&mut self.flows, &mut self.old_flows, place);
                continue;
            }
            let mut queue = OneFlow {
                packets: &mut flow.packets,
                bytes: &mut flow.bytes,
                store: &mut self.store,
            };
            if let Some(packet) = flow
                .control
                .dequeue(now, &mut queue, &self.parameters, tally)
            {
                flow.deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
            // An empty new queue goes to the old ones, so that it cannot starve them by coming back (section 4.2).
            flow.scheduled = from_new;
            Self::unschedule_first(&self.flows, list);
            if from_new {
                Self::schedule(&mut self.flows, &mut self.old_flows, place);
            }
        }
    }

    fn depth(&self) -> Count {
        self.store.depth
    }
}
