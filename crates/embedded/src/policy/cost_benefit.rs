use super::{Candidate, Victim, Worth, temperature::transformed};

/// Cost-benefit: the greatest `T(age) · (1 − u) / 2u` (Kawaguchi, Nishioka, Motoda 1995; CAT paper §3.1). A young
/// block is given time to gather garbage.
#[derive(Clone, Copy, Debug)]
pub struct CostBenefit {
    /// Time scale of ages, in page programs; at least 1.
    pub tau: u32,
}

impl Default for CostBenefit {
    fn default() -> Self {
        Self { tau: 1700 }
    }
}

impl Victim for CostBenefit {
    fn worth(&self, block: &Candidate) -> Worth {
        let age = transformed(block.age, self.tau.max(1));
        Worth { over: (block.pages - block.valid) * age, under: block.valid }
    }
}
