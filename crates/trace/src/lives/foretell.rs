//! How well lives can be foretold: counts of lives by octaves of features.
//!
//! A level of the table knows one feature more than the level before. A cell has the lives of page writes whose
//! features have the same octaves. What a cell says is mixed with what the level before says, by how many lives it has
//! seen. A table is no bound: a better learner may foretell more of the same features.

use rustc_hash::FxHashMap;

use super::{FEATURES, Features};

/// Octaves of a life, in page writes.
const OCTAVES: usize = 40;
/// Lives that the level before counts for.
const PRIOR: f32 = 32.0;
/// Cells of a level. Memory does not grow beyond them.
const MOST_CELLS: usize = 1 << 20;

type Chances = [f32; OCTAVES];

/// Sums over the lives that were foretold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Lives.
    pub lives: u64,
    /// Those of them that had not ended. They count as if they ended now, if they were foretold to be shorter.
    pub unfinished: u64,
    /// Sum of the distances from the foretold to the real life, in octaves.
    pub octaves: f64,
    /// Lives foretold to an octave or better.
    pub within_one: u64,
    /// Sum of the bits that say in which octave the life ends, to someone who knows what was foretold.
    pub bits: f64,
}

/// A table that learns lives and foretells them.
#[derive(Debug)]
pub struct Foretelling {
    /// Indices of features, the most telling first.
    features: Vec<usize>,
    levels: Vec<FxHashMap<u64, [u32; OCTAVES]>>,
    scores: Vec<Score>,
}

/// The octave of a life that is at least 1.
fn octave(life: u64) -> usize {
    (life.max(1).ilog2() as usize).min(OCTAVES - 1)
}

/// A feature's octave; 0 for none.
const fn part(value: u32) -> u64 {
    if value == 0 { 0 } else { 1 + value.ilog2() as u64 }
}

impl Foretelling {
    /// By features of these names, each named once.
    ///
    /// # Errors
    /// The name that is none of a feature, or stands twice.
    pub fn new<'a>(names: &[&'a str]) -> Result<Self, &'a str> {
        let mut features = Vec::new();
        for name in names {
            let at = FEATURES.iter().position(|known| known == name);
            features.push(at.filter(|at| !features.contains(at)).ok_or(*name)?);
        }
        let levels = vec![FxHashMap::default(); features.len() + 1];
        let scores = vec![Score::default(); levels.len()];
        Ok(Self { features, levels, scores })
    }

    /// The cells of a page write, one a level.
    fn cells(&self, features: &[u32; FEATURES.len()]) -> [u64; FEATURES.len() + 1] {
        let mut cells = [1; FEATURES.len() + 1];
        for (level, at) in self.features.iter().enumerate() {
            cells[level + 1] = cells[level] << 6 | part(features[*at]);
        }
        cells
    }

    /// Learns a life.
    pub fn learn(&mut self, features: &Features, life: u64) {
        let cells = self.cells(&features.values());
        for (level, cell) in self.levels.iter_mut().zip(cells) {
            if level.len() < MOST_CELLS || level.contains_key(&cell) {
                let count = &mut level.entry(cell).or_insert([0; OCTAVES])[octave(life)];
                *count = count.saturating_add(1);
            }
        }
    }

    /// Foretells a life by the features of each level, the first of which knows none.
    fn foretold(&self, features: &[u32; FEATURES.len()], mut each: impl FnMut(usize, &Chances)) {
        let mut chances = [1.0 / OCTAVES as f32; OCTAVES];
        for (at, (level, cell)) in self.levels.iter().zip(self.cells(features)).enumerate() {
            if let Some(counts) = level.get(&cell) {
                let all: f32 = counts.iter().map(|count| *count as f32).sum();
                for (chance, count) in chances.iter_mut().zip(counts) {
                    *chance = (*count as f32 + PRIOR * *chance) / (all + PRIOR);
                }
            }
            each(at, &chances);
        }
    }

    /// The binary logarithm of the life that is most likely in the middle: half of such lives are shorter.
    #[must_use]
    pub fn foretell(&self, features: &[u32; FEATURES.len()]) -> f32 {
        let mut foretold = 0.0;
        self.foretold(features, |_, chances| foretold = median(chances));
        foretold
    }

    /// Foretells a life and scores what it says. `ended` is false for one that was not over at this age.
    pub fn score(&mut self, features: &Features, age: u64, ended: bool) {
        let real = libm::log2f(age.max(1) as f32);
        let mut scores = std::mem::take(&mut self.scores);
        self.foretold(&features.values(), |level, chances| {
            let distance = median(chances) - real;
            let distance = if ended { distance.abs() } else { (-distance).max(0.0) };
            let from = octave(age);
            let until = if ended { from + 1 } else { OCTAVES };
            let chance: f32 = chances[from..until].iter().sum();
            let score = &mut scores[level];
            score.lives += 1;
            score.unfinished += u64::from(!ended);
            score.octaves += f64::from(distance);
            score.within_one += u64::from(distance <= 1.0);
            score.bits -= f64::from(libm::log2f(chance.min(1.0)));
        });
        self.scores = scores;
    }

    /// The scores, by number of features.
    #[must_use]
    pub fn scores(&self) -> &[Score] {
        &self.scores
    }
}

/// Where half of the chances lie below.
fn median(chances: &Chances) -> f32 {
    let mut below = 0.0;
    for (octave, chance) in chances.iter().enumerate() {
        if below + chance >= 0.5 {
            return octave as f32 + (0.5 - below) / chance;
        }
        below += chance;
    }
    OCTAVES as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_interval(interval: u32) -> Features {
        Features { intervals: [interval, 0, 0, 0], ..Features::default() }
    }

    #[test]
    fn lives_that_follow_from_a_feature_are_foretold_by_it_alone() {
        let mut table = Foretelling::new(&["interval_1", "run"]).expect("features");
        // A page lives as long as before: in a short interval or in a long one, equally often.
        let lives = [(20, 20), (5000, 5000)];
        (0..200).for_each(|_| {
            lives.iter().for_each(|(past, life)| table.learn(&of_interval(*past), *life))
        });
        lives.iter().for_each(|(past, life)| table.score(&of_interval(*past), *life, true));
        let [none, interval, run] = table.scores() else { panic!("a score for each level") };
        assert!(none.octaves / 2.0 > 3.0 && (none.bits / 2.0 - 1.0).abs() < 0.2, "{none:?}");
        assert!(interval.octaves / 2.0 < 0.6 && interval.bits / 2.0 < 0.2, "{interval:?}");
        assert_eq!(interval.within_one, 2);
        assert!(run.bits <= interval.bits, "a feature that says nothing costs nothing");
    }

    #[test]
    fn a_life_that_has_not_ended_is_wrong_only_where_less_was_foretold() {
        let mut table = Foretelling::new(&[]).expect("no features");
        (0..100).for_each(|_| table.learn(&Features::default(), 1 << 10));
        table.score(&Features::default(), 1 << 4, false);
        assert_eq!(table.scores()[0].octaves, 0.0);
        table.score(&Features::default(), 1 << 20, false);
        assert!(table.scores()[0].octaves > 9.0);
        assert_eq!((table.scores()[0].lives, table.scores()[0].unfinished), (2, 2));
    }
}
