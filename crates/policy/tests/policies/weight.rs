//! The striping paper's weight of a block (§5.2, Table 3), on hand-made blocks: a dead page counts
//! 1, a live cold one −1, a live hot one −2, and the heaviest block is cleaned.

use thermocline_flash::BlockId;
use thermocline_policy::{
    BlockTable,
    placement::Entry,
    victim::{Victim, Weight},
};

const PAGES: u32 = 32;

/// Pages of a full block.
#[derive(Clone, Copy, Debug)]
struct Full {
    dead: u32,
    cold: u32,
    hot: u32,
}

impl Full {
    const fn new(dead: u32, cold: u32, hot: u32) -> Self {
        assert!(dead + cold + hot == PAGES);
        Self { dead, cold, hot }
    }

    /// The paper's definition: benefit minus cost, page by page.
    fn weight(self) -> i64 {
        let [dead, cold, hot] = [self.dead, self.cold, self.hot].map(i64::from);
        let (benefit, cost) = (dead + cold, 2 * (cold + hot));
        benefit - cost
    }
}

fn table(full: &[Full]) -> BlockTable {
    let mut blocks = BlockTable::new(full.len() as u32, PAGES, &Weight);
    for (block, f) in (0..).map(BlockId).zip(full) {
        blocks.open(block, 0, 0);
        for _ in 0..PAGES {
            blocks.wrote(block, 0);
        }
        blocks.warm(block, f.hot as i32);
        blocks.close(block, &Weight, Entry::Indexed);
        for _ in 0..f.dead {
            blocks.invalidate(block, 0);
        }
    }
    blocks
}

fn chosen(full: &[Full]) -> Option<u32> {
    Weight.choose(&table(full), 1).map(|block| block.0)
}

/// The vector in the specification.
const VECTOR: Full = Full::new(10, 15, 7);

#[test]
fn ten_dead_fifteen_cold_and_seven_hot_pages_weigh_19_below_nothing() {
    assert_eq!(VECTOR.weight(), -19);
    // Blocks of the same weight with more and with less garbage: the lowest number decides.
    let equals = [Full::new(7, 24, 1), Full::new(9, 18, 5), Full::new(11, 12, 9)];
    // One page more or less of each kind.
    let lighter = [Full::new(10, 14, 8), Full::new(9, 17, 6), Full::new(8, 20, 4)];
    let heavier = [Full::new(10, 16, 6), Full::new(11, 13, 8), Full::new(7, 25, 0)];
    for f in equals {
        assert_eq!(f.weight(), -19);
        assert_eq!(chosen(&[f, VECTOR]), Some(0), "{f:?} comes first");
        assert_eq!(chosen(&[VECTOR, f]), Some(0), "{f:?} comes second");
    }
    for f in lighter {
        assert!(f.weight() < -19);
        assert_eq!((chosen(&[f, VECTOR]), chosen(&[VECTOR, f])), (Some(1), Some(0)), "{f:?}");
    }
    for f in heavier {
        assert!(f.weight() > -19);
        assert_eq!((chosen(&[f, VECTOR]), chosen(&[VECTOR, f])), (Some(0), Some(1)), "{f:?}");
    }
    let all: Vec<Full> = lighter.into_iter().chain([VECTOR]).chain(equals).chain(heavier).collect();
    for first in 0..all.len() {
        let turned: Vec<Full> = all[first..].iter().chain(&all[..first]).copied().collect();
        let best = turned.iter().map(|f| f.weight()).max();
        let expected = turned.iter().position(|f| Some(f.weight()) == best);
        assert_eq!(chosen(&turned).map(|b| b as usize), expected, "from {first}");
    }
}

#[test]
fn a_block_without_garbage_is_never_chosen_however_cold() {
    let (cold, hot) = (Full::new(0, 32, 0), Full::new(1, 0, 31));
    assert!(cold.weight() > hot.weight());
    assert_eq!(chosen(&[cold, hot]), Some(1));
    assert_eq!(chosen(&[cold, Full::new(0, 0, 32)]), None);
}

#[test]
fn every_promotion_demotion_invalidation_and_revival_is_weighed_at_once() {
    let other = Full::new(9, 18, 5); // as heavy as the vector, and of a higher number
    let mut blocks = table(&[VECTOR, other]);
    let (vector, other) = (BlockId(0), BlockId(1));
    let choice = |blocks: &BlockTable| Weight.choose(blocks, 1);
    assert_eq!(choice(&blocks), Some(vector));
    blocks.warm(vector, 1); // −20
    assert_eq!(choice(&blocks), Some(other), "a promotion");
    blocks.warm(other, 1); // −20
    assert_eq!(choice(&blocks), Some(vector), "a promotion there too");
    blocks.warm(other, -2); // −18
    assert_eq!(choice(&blocks), Some(other), "two demotions");
    blocks.warm(vector, -1); // −19: a hot page is overwritten
    blocks.invalidate(vector, 1); // −17
    assert_eq!(choice(&blocks), Some(vector), "a dead page for a hot one");
    blocks.invalidate(other, 1); // −16: a cold page is overwritten
    assert_eq!(choice(&blocks), Some(other), "a dead page for a cold one");
    blocks.revalidate(other, 1); // −18: it was alive
    assert_eq!(choice(&blocks), Some(vector), "a cold page for a dead one");
    blocks.revalidate(vector, 1); // −19
    blocks.warm(vector, 1); // −20: it was hot
    assert_eq!(choice(&blocks), Some(other), "a hot page for a dead one");
}
