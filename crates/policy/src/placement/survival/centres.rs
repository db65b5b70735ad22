//! Streams that partition a range of values: each has a centre, a page joins the nearest, and the
//! centre moves slightly towards the page.
//!
//! Centres never pass one another, because a page between two of them moves the nearer one. Not all
//! streams need to be in use. The numbers of those in use are spread evenly over all.

use alloc::vec::Vec;

use super::ages::OCTAVE;

/// A page moves a centre by this part of the distance, as a negative power of 2.
const DAMPING: u32 = 7;
/// Fraction bits of the centres, because one step is less than a unit.
const FRACTION: u32 = 12;

/// The centres of the streams in use, as fixed-point numbers, ascending.
#[derive(Clone, Debug)]
pub(super) struct Centres {
    centres: Vec<i64>,
    /// The stream number of each centre.
    streams: Vec<u8>,
    /// Maximum number of streams.
    most: u8,
    /// Streams in use, as bits.
    used: u32,
}

impl Centres {
    /// `count` centres spread evenly between `least` and `most`, for a maximum of `of` streams.
    pub(super) fn new(count: u8, of: u8, least: u32, most: u32) -> Self {
        let (least, most, n) = (i64::from(least), i64::from(most), i64::from(count));
        let centre = |i| (least + (most - least) * (2 * i + 1) / (2 * n)) << FRACTION;
        let mut all = Self {
            centres: (0..n).map(centre).collect(),
            streams: Vec::new(),
            most: of.max(count),
            used: 0,
        };
        all.number();
        all
    }

    /// Assigns stream numbers to the centres. The first has stream 0.
    fn number(&mut self) {
        let (count, of) = (self.centres.len(), usize::from(self.most));
        self.streams = (0..count).map(|i| (i * of / count) as u8).collect();
        self.used = self.streams.iter().fold(0, |used, stream| used | 1 << stream);
    }

    /// Changes the number of streams in use. The new centres interpolate the old ones, and
    /// extrapolate at the ends with the nearest slope. A single centre is assumed to have
    /// neighbours an octave away.
    pub(super) fn resize(&mut self, count: u8) {
        let (mut old, count) = (self.centres.clone(), i64::from(count.clamp(1, self.most)));
        if let [only] = old[..] {
            let octave = i64::from(OCTAVE) << FRACTION;
            old = alloc::vec![only - octave, only, only + octave];
        }
        let had = old.len() as i64;
        let at = |i: i64| {
            // Old centre n is at 2n + 1 of 2 · had. Positions count from the first one, with 512
            // between neighbours.
            let place = (2 * i + 1) * had * 256 / count - 256;
            let before = place.div_euclid(512).clamp(0, had - 2);
            let (left, right) = (old[before as usize], old[before as usize + 1]);
            left + (right - left) * (place - 512 * before) / 512
        };
        self.centres = (0..count).map(at).collect();
        self.number();
    }

    /// Adds a number of pages of this value to the nearest centre; returns its stream.
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
        self.streams[nearest]
    }

    /// Number of streams in use.
    pub(super) fn len(&self) -> u8 {
        self.centres.len() as u8
    }

    /// Number of streams, in use or not.
    pub(super) const fn most(&self) -> u8 {
        self.most
    }

    /// The stream of the greatest values.
    #[inline(always)]
    pub(super) fn last(&self) -> u8 {
        self.streams[self.streams.len() - 1]
    }

    #[inline(always)]
    pub(super) const fn is_used(&self, stream: u8) -> bool {
        self.used >> stream & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_go_where_the_values_are() {
        let mut centres = Centres::new(2, 2, 0, 4096);
        for _ in 0..400 {
            assert_eq!(centres.join(1000, 10), 0);
            assert_eq!(centres.join(3500, 10), 1);
        }
        let at = |i: usize| centres.centres[i] >> FRACTION;
        assert!((at(0) - 1000).abs() <= 1 && (at(1) - 3500).abs() <= 1, "{centres:?}");
    }

    #[test]
    fn more_and_fewer_streams_keep_the_order_of_centres_and_their_range() {
        let at =
            |centres: &Centres| centres.centres.iter().map(|c| c >> FRACTION).collect::<Vec<_>>();
        let mut centres = Centres::new(4, 8, 0, 800);
        assert_eq!(
            (at(&centres), &centres.streams[..]),
            ([100, 300, 500, 700].into(), &[0, 2, 4, 6][..])
        );
        centres.resize(8);
        assert_eq!(at(&centres), [50, 150, 250, 350, 450, 550, 650, 750]);
        assert_eq!(centres.streams, [0, 1, 2, 3, 4, 5, 6, 7]);
        centres.resize(2);
        assert_eq!((at(&centres), centres.last()), ([200, 600].into(), 4));
        assert!(centres.is_used(0) && centres.is_used(4) && !centres.is_used(1));
        centres.resize(1);
        assert_eq!((at(&centres), centres.len(), centres.join(9000, 1)), ([400].into(), 1, 0));
        centres.resize(3);
        assert_eq!(centres.streams, [0, 2, 5]);
        assert!(centres.centres.is_sorted_by(|a, b| a < b), "{centres:?}");
    }
}
