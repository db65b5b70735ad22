//! Requests whose end is not known yet, where reads are served first.

use std::collections::VecDeque;

use crate::engine::Answer;

/// The requests that were issued and of which some operation has not ended, oldest first. Requests
/// are numbered in the order of issue.
#[derive(Default)]
pub(crate) struct InProgress {
    /// Number of the oldest.
    first: u64,
    requests: VecDeque<(Answer, u32)>,
    unfinished: usize,
}

impl InProgress {
    /// Adds the next request, of which this many operations have not ended.
    pub(crate) fn push(&mut self, answer: Answer, operations: u32) {
        self.requests.push_back((answer, operations));
        self.unfinished += usize::from(operations > 0);
    }

    /// Records the end of an operation of a request.
    pub(crate) fn ended(&mut self, request: u64, time: u64) {
        let (answer, operations) = &mut self.requests[(request - self.first) as usize];
        answer.end = answer.end.max(time);
        *operations -= 1;
        self.unfinished -= usize::from(*operations == 0);
    }

    /// Number of requests on which the device works.
    pub(crate) const fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Takes the oldest request, if it has ended.
    pub(crate) fn take(&mut self) -> Option<Answer> {
        let (_, 0) = self.requests.front()? else { return None };
        self.first += 1;
        self.requests.pop_front().map(|(answer, _)| answer)
    }
}
