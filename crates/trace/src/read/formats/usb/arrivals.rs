//! Commands in the order of their arrival, each held back until its answer has come.
//!
//! The data of a read and the refusal of a command are known only at its end, and devices may
//! answer in any order. So a request waits for its own answer and for the requests before it.

use std::collections::VecDeque;

use crate::Request;

/// Maximum number of commands held back. A command without an answer is given up after this many
/// others.
const MOST: usize = 1 << 16;

/// A command's number in the order of arrival.
pub(super) type Serial = u64;

/// The outcome of a command.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Success, with the bytes moved if they are wanted and known.
    Done(Option<Vec<u8>>),
    /// The ranges of an UNMAP, in reverse order.
    Ranges(Vec<Request>),
    /// The command yields no request.
    Dropped,
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    slots: VecDeque<(Request, Option<Outcome>)>,
    /// The number of the first slot.
    first: Serial,
}

impl Arrivals {
    /// Adds a command. Returns true if another one was given up for it.
    pub(super) fn push(&mut self, request: Request) -> (Serial, bool) {
        let full = self.slots.len() >= MOST;
        let given_up = full && matches!(self.slots.front(), Some((_, None)));
        if given_up {
            self.slots.pop_front();
            self.first += 1;
        }
        self.slots.push_back((request, None));
        (self.first + self.slots.len() as u64 - 1, given_up)
    }

    /// The request of a waiting command; `None` if it was given up.
    pub(super) fn waiting(&self, serial: Serial) -> Option<Request> {
        let at = usize::try_from(serial.checked_sub(self.first)?).ok()?;
        self.slots.get(at).filter(|slot| slot.1.is_none()).map(|slot| slot.0)
    }

    /// Sets the outcome of a [waiting](Arrivals::waiting) command.
    pub(super) fn settle(&mut self, serial: Serial, outcome: Outcome) {
        let at = serial.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(slot) = at.and_then(|at| self.slots.get_mut(at)) {
            slot.1 = Some(outcome);
        }
    }

    /// Gives up all waiting commands; returns their number.
    pub(super) fn give_up(&mut self) -> u64 {
        let mut count = 0;
        for slot in self.slots.iter_mut().filter(|slot| slot.1.is_none()) {
            slot.1 = Some(Outcome::Dropped);
            count += 1;
        }
        count
    }

    /// The next request with all earlier ones settled, and its bytes.
    pub(super) fn next(&mut self) -> Option<(Request, Option<Vec<u8>>)> {
        loop {
            let (request, outcome) = self.slots.front_mut()?;
            let found = match outcome.as_mut()? {
                Outcome::Done(bytes) => Some((*request, bytes.take())),
                Outcome::Ranges(ranges) => match ranges.pop() {
                    Some(range) => return Some((range, None)),
                    None => None,
                },
                Outcome::Dropped => None,
            };
            self.slots.pop_front();
            self.first += 1;
            if found.is_some() {
                return found;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    fn at(time_ns: u64) -> Request {
        Request { time_ns, op: Op::Read, offset: 0, len: 512, volume: 0, hint: 0 }
    }

    #[test]
    fn requests_leave_in_the_order_they_came() {
        let mut arrivals = Arrivals::default();
        let serials: Vec<_> = (0..4).map(|time| arrivals.push(at(time)).0).collect();
        arrivals.settle(serials[1], Outcome::Done(Some(vec![1])));
        assert_eq!(arrivals.next(), None, "the first has no answer yet");
        arrivals.settle(serials[0], Outcome::Dropped);
        assert_eq!(arrivals.next(), Some((at(1), Some(vec![1]))));
        arrivals.settle(serials[2], Outcome::Ranges(vec![at(9), at(8)]));
        assert_eq!(arrivals.next(), Some((at(8), None)));
        assert_eq!(arrivals.next(), Some((at(9), None)));
        assert_eq!(arrivals.next(), None);
        assert_eq!(
            (arrivals.waiting(serials[2]), arrivals.waiting(serials[3])),
            (None, Some(at(3)))
        );
        assert_eq!(arrivals.give_up(), 1);
        assert_eq!(arrivals.next(), None);
    }

    #[test]
    fn an_unanswered_device_holds_back_a_bounded_number_of_requests() {
        let mut arrivals = Arrivals::default();
        let (silent, _) = arrivals.push(at(0));
        for time in 1..MOST as u64 {
            let (serial, given_up) = arrivals.push(at(time));
            assert!(!given_up);
            arrivals.settle(serial, Outcome::Done(None));
        }
        assert_eq!(arrivals.next(), None);
        assert!(arrivals.push(at(MOST as u64)).1);
        assert_eq!(arrivals.waiting(silent), None);
        assert_eq!(arrivals.next(), Some((at(1), None)));
    }
}
