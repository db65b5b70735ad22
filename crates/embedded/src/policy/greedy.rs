use super::{Candidate, Victim, Worth};

/// The block with the fewest valid pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl Victim for Greedy {
    fn worth(&self, block: &Candidate) -> Worth {
        Worth { over: block.pages - block.valid, under: 1 }
    }
}
