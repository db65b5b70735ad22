//! Which block is cleaned, and which stream a page goes to: in integers, and without memory per page.
//!
//! Each is the one of the same name in the simulator, where `thermocline compare` says which suits a trace.

mod cat;
mod cost_benefit;
mod dac;
mod greedy;
mod hot_cold;
mod one_stream;
mod temperature;
mod update_interval;

pub use cat::Cat;
pub use cost_benefit::CostBenefit;
pub use dac::Dac;
pub use greedy::Greedy;
pub use hot_cold::HotCold;
pub use one_stream::OneStream;
pub use update_interval::UpdateInterval;

/// A block that could be cleaned.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Pages with current content, fewer than `pages`.
    pub valid: u32,
    /// Pages of a block, at most 511.
    pub pages: u32,
    /// Page programs since it was opened, in steps of about a hundredth of the chip; below 2¹⁶ steps.
    pub age: u64,
    /// Times erased.
    pub erases: u16,
}

/// What cleaning a block is worth, as a fraction; over 0 it is worth more than any other.
#[derive(Clone, Copy, Debug)]
pub struct Worth {
    /// The numerator.
    pub over: u32,
    /// The denominator.
    pub under: u32,
}

impl Worth {
    /// Whether it is more. Two products instead of two quotients: exact, and quick where no instruction divides.
    #[must_use]
    pub fn is_more_than(self, other: Self) -> bool {
        u64::from(self.over) * u64::from(other.under)
            > u64::from(other.over) * u64::from(self.under)
    }
}

/// Chooses the block that is cleaned next: the one that is worth most, the first of equals.
pub trait Victim {
    /// What cleaning a block is worth.
    fn worth(&self, block: &Candidate) -> Worth;
}

/// The copy that a page of the host replaces.
#[derive(Clone, Copy, Debug)]
pub struct Old {
    /// The stream of the block that holds it.
    pub stream: u8,
    /// Pages written to that stream since, where those are fewer than a block has.
    pub near: bool,
}

/// Chooses the stream that a page is written to; each stream has an open block.
pub trait Placement {
    /// How many streams there are, at most [`MAX_STREAMS`](crate::MAX_STREAMS); always the same.
    fn streams(&self) -> u8;

    /// Of a page that the host writes.
    fn host(&mut self, old: Option<Old>) -> u8;

    /// Of a page that cleaning moves, from a block of that stream.
    fn survivor(&mut self, stream: u8) -> u8;
}

impl<V: Victim + ?Sized> Victim for &V {
    fn worth(&self, block: &Candidate) -> Worth {
        (**self).worth(block)
    }
}

#[cfg(feature = "alloc")]
impl<V: Victim + ?Sized> Victim for alloc::boxed::Box<V> {
    fn worth(&self, block: &Candidate) -> Worth {
        (**self).worth(block)
    }
}

#[cfg(feature = "alloc")]
impl<P: Placement + ?Sized> Placement for alloc::boxed::Box<P> {
    fn streams(&self) -> u8 {
        (**self).streams()
    }

    fn host(&mut self, old: Option<Old>) -> u8 {
        (**self).host(old)
    }

    fn survivor(&mut self, stream: u8) -> u8 {
        (**self).survivor(stream)
    }
}

impl<P: Placement + ?Sized> Placement for &mut P {
    fn streams(&self) -> u8 {
        (**self).streams()
    }

    fn host(&mut self, old: Option<Old>) -> u8 {
        (**self).host(old)
    }

    fn survivor(&mut self, stream: u8) -> u8 {
        (**self).survivor(stream)
    }
}
