//! A part of the work for one of several machines.

use std::{fmt, ops::Range, str::FromStr};

/// Shard `number` of `of`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers =
            parts.and_then(|(n, of)| Some((n.trim().parse().ok()?, of.trim().parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(format!("`{text}` is no shard; write the third of sixteen as 3/16")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Shard {
    /// Its part of this many things, which stand together: shards one behind another are the whole.
    #[must_use]
    pub fn range(self, things: usize) -> Range<usize> {
        let start = |number: usize| (number as u128 * things as u128 / self.of as u128) as usize;
        start(self.number - 1)..start(self.number)
    }

    /// As above, with shards of about equal weight.
    #[must_use]
    pub fn range_by_weight(self, weights: &[u64]) -> Range<usize> {
        let total: u128 = weights.iter().map(|w| u128::from(*w)).sum();
        if total == 0 {
            return self.range(weights.len());
        }
        // A thing belongs where its middle lies.
        let mut before = 0_u128;
        let of = |weight: u64, before: &mut u128| {
            let middle = 2 * *before + u128::from(weight);
            *before += u128::from(weight);
            (middle * self.of as u128 / (2 * total)).min(self.of as u128 - 1) as usize
        };
        let shards: Vec<usize> = weights.iter().map(|weight| of(*weight, &mut before)).collect();
        let start = shards.partition_point(|shard| *shard < self.number - 1);
        start..shards.partition_point(|shard| *shard < self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_one_behind_another_are_the_whole() {
        let weights: Vec<u64> = (0..37).map(|i| i * i % 11).collect();
        for of in [1, 2, 5, 16, 64] {
            let (mut next, mut next_by_weight) = (0, 0);
            for number in 1..=of {
                let shard = Shard { number, of };
                let range = shard.range(37);
                assert_eq!(range.start, next);
                next = range.end;
                let range = shard.range_by_weight(&weights);
                assert_eq!(range.start, next_by_weight);
                next_by_weight = range.end;
            }
            assert_eq!((next, next_by_weight), (37, 37));
        }
        assert_eq!("3/16".parse(), Ok(Shard { number: 3, of: 16 }));
        assert!(
            ["0/4", "5/4", "4", "a/b", "1/0"].iter().all(|text| text.parse::<Shard>().is_err())
        );
    }
}
