use super::{Candidate, Victim, Worth, temperature::transformed};

/// Cost Age Times: the least `u / (1 − u) · 1 / T(age) · erases` (CAT paper §3.2): cost-benefit that spares the
/// blocks erased most.
#[derive(Clone, Copy, Debug)]
pub struct Cat {
    /// Time scale of ages, in page programs; at least 1.
    pub tau: u32,
}

impl Default for Cat {
    fn default() -> Self {
        Self { tau: 1700 }
    }
}

impl Victim for Cat {
    fn worth(&self, block: &Candidate) -> Worth {
        let age = transformed(block.age, self.tau.max(1));
        let cost = block.valid * (u32::from(block.erases) + 1);
        Worth { over: (block.pages - block.valid) * age, under: cost }
    }
}
