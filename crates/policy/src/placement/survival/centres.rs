//! Streams that share out values among themselves: each has a centre, a page joins the nearest, and the
//! centre moves a little towards it.
//!
//! Centres never pass one another: a page between two of them moves the nearer one.

use alloc::vec::Vec;

/// A centre moves by one part in so many, as a power of 2.
const DAMPING: u32 = 7;
/// Fractions of the unit that centres are kept in, as a power of 2: a step is less than a unit.
const FRACTION: u32 = 12;

/// The centres of some streams in fractions, the least first.
#[derive(Clone, Debug)]
pub(super) struct Centres {
    centres: Vec<i64>,
}

impl Centres {
    /// So many centres, spread evenly over values between `least` and `most`.
    pub(super) fn new(count: u8, least: u32, most: u32) -> Self {
        let (least, most, count) = (i64::from(least), i64::from(most), i64::from(count));
        let centre = |i| (least + (most - least) * (2 * i + 1) / (2 * count)) << FRACTION;
        Self { centres: (0..count).map(centre).collect() }
    }

    /// So many pages of this value join the nearest; returns its number.
    #[inline(always)]
    pub(super) fn join(&mut self, value: u32, pages: u32) -> u8 {
        let value = i64::from(value) << FRACTION;
        let (mut nearest, mut least) = (0, i64::MAX);
        for (i, centre) in self.centres.iter().enumerate() {
            let distance = (value - centre).abs();
            if distance < least {
                (nearest, least) = (i, distance);
            }
        }
        let centre = &mut self.centres[nearest];
        for _ in 0..pages {
            *centre += (value - *centre) >> DAMPING;
        }
        nearest as u8
    }

    pub(super) fn len(&self) -> u8 {
        self.centres.len() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_go_where_the_values_are() {
        let mut centres = Centres::new(2, 0, 4096);
        for _ in 0..400 {
            assert_eq!(centres.join(1000, 10), 0);
            assert_eq!(centres.join(3500, 10), 1);
        }
        let at = |i: usize| centres.centres[i] >> FRACTION;
        assert!((at(0) - 1000).abs() <= 1 && (at(1) - 3500).abs() <= 1, "{centres:?}");
    }
}
