//! Cost of cleaning a block without its age, by its valid pages and its factor of wear or its hot
//! pages.

use alloc::{vec, vec::Vec};

use thermocline_flash::prefetch;

use super::tree::SLACK;

/// Tabulated factors of a policy's cost.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    /// By number of valid pages.
    ratios: Vec<Ratio>,
    pub factor: Factors,
}

/// What affects the cost besides valid pages.
#[derive(Clone, Debug)]
#[repr(u8)] // a plain tag, for it is read whenever a page is invalidated
pub(super) enum Factors {
    /// Nothing.
    None,
    /// A factor for each block.
    Wear(Vec<f64>),
    /// The number of hot pages in each block, which is added to the numerator.
    HotPages(Vec<u32>),
}

impl Factors {
    pub fn wear(blocks: usize) -> Self {
        Self::Wear(vec![1.0; blocks])
    }

    pub fn hot_pages(blocks: usize) -> Self {
        Self::HotPages(vec![0; blocks])
    }

    /// A block's factor of wear, if the policy has one.
    pub fn wear_of(&self, block: usize) -> Option<f64> {
        match self {
            Self::Wear(wear) => Some(wear[block]),
            Self::None | Self::HotPages(_) => None,
        }
    }

    /// Hot pages of a block, if the policy counts them.
    pub fn hot_pages_of(&self, block: usize) -> Option<u32> {
        match self {
            Self::HotPages(hot) => Some(hot[block]),
            Self::None | Self::Wear(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Ratio {
    num: f64,
    den: f64,
    quotient: f64,
    /// The lowest number of valid pages with this numerator and denominator.
    terms: u32,
}

impl Costs {
    /// `ratio` gives numerator and denominator by the number of valid pages, of `pages` in a block.
    pub fn new(pages: u32, ratio: impl Fn(u32) -> (f64, f64), factor: Factors) -> Self {
        let mut ratios: Vec<Ratio> = Vec::with_capacity(pages as usize + 1);
        for valid in 0..=pages {
            // A block without garbage is never a candidate, whatever cost the policy gives it.
            let (num, den) = if valid == pages { (1.0, 0.0) } else { ratio(valid) };
            let same = ratios.last().filter(|before| (before.num, before.den) == (num, den));
            let terms = same.map_or(valid, |before| before.terms);
            ratios.push(Ratio { num, den, quotient: num / den, terms });
        }
        Self { ratios, factor }
    }

    /// Identifies the numerator and denominator of a weight: equal numbers for equal pairs.
    #[inline(always)]
    pub fn terms(&self, valid: u32) -> u32 {
        self.ratios[valid as usize].terms
    }

    /// The weight of a block: its cost without its age.
    #[inline(always)]
    pub fn weight(&self, block: u32, valid: u32) -> f64 {
        let ratio = &self.ratios[valid as usize];
        // One rounding only, so that equal fractions give equal numbers and ties are exact.
        match &self.factor {
            Factors::None => ratio.quotient,
            Factors::Wear(wear) => ratio.num * wear[block as usize] / ratio.den,
            Factors::HotPages(hot) => (ratio.num + f64::from(hot[block as usize])) / ratio.den,
        }
    }

    /// Whether the weight of a block is certainly above a bound; computed without a division.
    #[inline(always)]
    pub fn exceeds(&self, block: u32, valid: u32, bound: f64) -> bool {
        let ratio = &self.ratios[valid as usize];
        let num = match &self.factor {
            Factors::None => return ratio.quotient > bound,
            Factors::Wear(wear) => ratio.num * wear[block as usize],
            Factors::HotPages(hot) => ratio.num + f64::from(hot[block as usize]),
        };
        num * SLACK > bound * ratio.den
    }

    /// Prefetches a block's factor of wear.
    #[inline(always)]
    pub fn prefetch(&self, block: usize) {
        if let Factors::Wear(wear) = &self.factor {
            prefetch(wear, block);
        }
    }

    /// The weight of a block with this number of valid pages and this factor of wear.
    #[inline(always)]
    pub fn weight_by_wear(&self, valid: u32, wear: f64) -> f64 {
        let ratio = &self.ratios[valid as usize];
        ratio.num * wear / ratio.den
    }

    /// The weight of a block as numerator and denominator.
    #[inline(always)]
    pub fn fraction(&self, block: u32, valid: u32) -> (f64, f64) {
        let ratio = &self.ratios[valid as usize];
        let num = match &self.factor {
            Factors::None => ratio.num,
            Factors::Wear(wear) => ratio.num * wear[block as usize],
            Factors::HotPages(hot) => ratio.num + f64::from(hot[block as usize]),
        };
        (num, ratio.den)
    }

    /// The cost of a block at an age factor.
    #[inline(always)]
    pub fn cost(&self, block: u32, valid: u32, age: f64) -> f64 {
        let (num, den) = self.fraction(block, valid);
        if num == 0.0 {
            return 0.0; // nothing to copy, or never worn: the age may be 0 too
        }
        num / (den * age)
    }

    /// The lowest number of valid pages at which a block with this factor of wear costs more than
    /// 0.
    pub fn least_costly(&self, wear: f64) -> u32 {
        let with_garbage = &self.ratios[..self.ratios.len() - 1];
        with_garbage.partition_point(|ratio| ratio.num * wear == 0.0) as u32
    }
}
