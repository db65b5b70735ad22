//! Streams that share out values among themselves: each has a centre, a page joins the nearest, and the
//! centre moves a little towards it.
//!
//! Where addresses do not count, centres never pass one another: a page between two of them moves the
//! nearer one.

use alloc::vec::Vec;

use super::ages::OCTAVE;

/// A centre moves by one part in so many, as a power of 2.
const DAMPING: u32 = 7;
/// Fractions of the unit that centres are kept in, as a power of 2: a step is less than a unit.
const FRACTION: u32 = 12;

/// A centre, in fractions.
#[derive(Clone, Copy, Debug)]
struct Centre {
    value: i64,
    address: i64,
}

/// The centres of some streams, the least value first.
#[derive(Clone, Debug)]
pub(super) struct Centres {
    centres: Vec<Centre>,
    /// What the whole device is worth beside values.
    address: i64,
}

impl Centres {
    /// So many centres, spread evenly over values between `least` and `most`. A page on the other end
    /// of the device is as far as one of a value that differs by `address` octaves.
    pub(super) fn new(count: u8, least: u32, most: u32, address: f64) -> Self {
        let (least, most, count) = (i64::from(least), i64::from(most), i64::from(count));
        let value = |i| (least + (most - least) * (2 * i + 1) / (2 * count)) << FRACTION;
        let centre = |i| Centre { value: value(i), address: 1 << (FRACTION - 1) };
        Self {
            centres: (0..count).map(centre).collect(),
            address: (address * f64::from(OCTAVE)) as i64,
        }
    }

    /// A page of this value joins the nearest; returns its number. `address` is where it lies, the device
    /// being 1 in fractions.
    #[inline(always)]
    pub(super) fn join(&mut self, value: u32, address: u32) -> u8 {
        let (value, address) = (i64::from(value) << FRACTION, i64::from(address));
        let (mut nearest, mut least) = (0, i64::MAX);
        for (i, centre) in self.centres.iter().enumerate() {
            let distance =
                (value - centre.value).abs() + (address - centre.address).abs() * self.address;
            if distance < least {
                (nearest, least) = (i, distance);
            }
        }
        let centre = &mut self.centres[nearest];
        centre.value += (value - centre.value) >> DAMPING;
        centre.address += (address - centre.address) >> DAMPING;
        nearest as u8
    }

    pub(super) fn len(&self) -> u8 {
        self.centres.len() as u8
    }
}

/// Where a page lies, for [`Centres::join`].
#[inline(always)]
pub(super) const fn address(page: u32, pages: u32) -> u32 {
    (((page as u64) << FRACTION) / pages as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_go_where_the_values_are() {
        let mut centres = Centres::new(2, 0, 4096, 0.0);
        for _ in 0..4000 {
            assert_eq!(centres.join(1000, 0), 0);
            assert_eq!(centres.join(3500, 0), 1);
        }
        let at = |i: usize| centres.centres[i].value >> FRACTION;
        assert!((at(0) - 1000).abs() <= 1 && (at(1) - 3500).abs() <= 1, "{centres:?}");
    }

    #[test]
    fn an_address_counts_as_much_as_it_is_told_to() {
        let far = address(999, 1000);
        let stream = |weight| {
            let mut centres = Centres::new(2, 0, 512, weight);
            centres.centres[1].address = i64::from(far);
            centres.join(200, far)
        };
        assert_eq!((stream(0.0), stream(1.0)), (0, 1));
    }
}
