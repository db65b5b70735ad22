//! eNVy's hybrid cleaning: partitions, first in first out inside, locality gathering between them
//! (Wu and Zwaenepoel 1994; CAT paper, Table 7).
//!
//! The flash is divided into partitions of adjacent segments. A page that the host writes returns
//! to its partition, so each partition keeps its own data. Inside a partition segments are cleaned
//! in the order they were written. Between neighbours data move so that the product of cleaning
//! frequency and cleaning cost becomes equal in all partitions. A partition above the average gives
//! data away: hot data towards the bottom (partition 0), cold data towards the top.
//!
//! Our readings, for a log whose free blocks are shared:
//! * A partition is a stream. It has no fixed blocks but a share of them, equal for all. The
//!   partition furthest above its share, counted in blocks, is cleaned; among equals, the one that
//!   the host writes to. So partitions keep their size, as in the paper, and those with less data
//!   have more spare space.
//! * At first a page belongs to the partition of its address; all partitions have equally many
//!   pages. The fill, which is one stream, is therefore distributed as it is cleaned.
//! * The cost of cleaning at utilisation u is `u/(1 − u)`, where u is the utilisation of the
//!   partition's recent victims. The frequency is its share of the recent victims: the mean of
//!   about the last 64.
//! * Data move when they survive. Cleaning a partition above the average by a part `p` gives away
//!   the same part of the survivors, to the neighbour with the lower product. Pages that the host
//!   wrote since they were last cleaned are the hottest here and go down; the others go up.
//!   `pull=yes` pulls as well: cleaning a partition below the average by a part `p` requests that
//!   part of its survivors' number from the neighbour with the greater product. A cleaning moves
//!   only pages of its own block, so the neighbour gives them when it is cleaned next, unless it
//!   gives data away itself then: hot pages downwards, others upwards, as above.
//! * `ranges=yes` gives each partition the share that its range of adjacent segments would have, in
//!   whole blocks; otherwise shares are equal. The blocks themselves still come from the shared
//!   free list, which changes the wear of each block but no count.
//! * A block with only garbage at the head of any queue is cleaned first, because it costs nothing.
//!   Blocks without garbage at the head of the partition to be cleaned move to its end, at most
//!   eight of them. Then another partition is cleaned. If none can be, the victim policy chooses.
//! * Read-only data form one more queue. Its oldest block is cleaned when half of it is garbage.
//!
//! Cost: a byte a page, 12 bytes a block; choosing a victim takes a few steps for each partition.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn, prefetch};

use super::{
    Answer, Choice, Cleaning, Entry, HostWrite, OwnVictims, Placement, Registered, Streams,
    Survivors, logs::Logs,
};
use crate::{Args, BlockView, Context, ParamError, PolicyInfo, params, params::within};

/// Maximum number of partitions.
const MOST: usize = 32;
/// Weight of one victim in the moving means of its partition.
const FADING: f64 = 1.0 / 64.0;
/// Set if the page survived since the host wrote it. The other bits are its partition.
const SURVIVED: u8 = 0x80;

params! {
    /// Parameters of [`Envy`].
    pub struct EnvyParams {
        /// Partitions, 1 to 32; auto: one for 16 blocks of a bank, 1 to 8.
        partitions: Option<u32> = None,
        /// Whether a partition below the average pulls data from a neighbour.
        pull: bool = false,
        /// Whether shares are those of ranges of adjacent blocks, and not all equal.
        ranges: bool = false,
    }
}

/// Partitions of the device; see the module.
#[derive(Clone, Debug)]
pub struct Envy {
    /// The partition of each page, and whether the page survived.
    home: Vec<u8>,
    count: u8,
    logs: Logs,
    partitions: [Partition; MOST],
    /// The partition of the host's last write.
    wanted: u8,
    /// Pages that the current victim gives away.
    gives: Gift,
    from: u8,
    /// Pages that a neighbour requested from each partition.
    asked: [Gift; MOST],
    pull: bool,
    /// Additional blocks of each partition beyond the equal share.
    more: [u32; MOST],
}

/// Pages to move to another partition.
#[derive(Clone, Copy, Debug, Default)]
struct Gift {
    to: u8,
    /// Whether to move pages that the host wrote since they were last cleaned, or the others.
    hot: bool,
    /// How many remain to be moved.
    left: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Partition {
    /// Valid share of the partition's recent victims.
    utilization: f64,
    /// The partition's share of recent victims.
    frequency: f64,
}

impl Partition {
    /// Cleaning frequency times cleaning cost.
    fn product(&self) -> f64 {
        self.frequency * self.utilization / (1.0 - self.utilization).max(1e-3)
    }
}

impl Gift {
    const fn down(to: u8, left: u32) -> Self {
        Self { to, hot: true, left }
    }

    const fn up(to: u8, left: u32) -> Self {
        Self { to, hot: false, left }
    }
}

impl Envy {
    fn product(&self, partition: u8) -> f64 {
        self.partitions[usize::from(partition)].product()
    }

    /// The pages that a partition gives away from `valid` survivors. A partition below the average
    /// requests pages from a neighbour.
    fn gift(&mut self, partition: u8, valid: u32) -> Gift {
        let asked = core::mem::take(&mut self.asked[usize::from(partition)]);
        let own = self.product(partition);
        let average = (0..self.count).map(|p| self.product(p)).sum::<f64>() / f64::from(self.count);
        let below = partition.checked_sub(1);
        let above = Some(partition + 1).filter(|&p| p < self.count);
        if own > average {
            let many = (f64::from(valid) * (1.0 - average / own)) as u32;
            return match (below, above) {
                (Some(b), Some(a)) if self.product(b) <= self.product(a) => Gift::down(b, many),
                (_, Some(a)) => Gift::up(a, many),
                (Some(b), None) => Gift::down(b, many),
                (None, None) => Gift::default(),
            };
        }
        if self.pull && own < average {
            let many = (f64::from(valid) * (1.0 - own / average)) as u32;
            let (from, gift) = match (below, above) {
                (Some(b), Some(a)) if self.product(b) >= self.product(a) => {
                    (b, Gift::up(partition, many))
                }
                (_, Some(a)) => (a, Gift::down(partition, many)),
                (Some(b), None) => (b, Gift::up(partition, many)),
                (None, None) => (partition, Gift::default()),
            };
            self.asked[usize::from(from)] = gift;
        }
        asked
    }
}

impl Streams for Envy {
    fn streams(&self) -> u8 {
        self.count
    }

    fn opened(&mut self, _bank: u32, block: BlockId, _stream: u8, _now: u64) {
        self.logs.remove(block);
    }

    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        self.logs.push(bank, stream, block);
        Entry::Indexed
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.logs.remove(victim.block);
        if victim.stream >= self.count {
            return;
        }
        for (partition, own) in (0..self.count).zip(&mut self.partitions) {
            let is = f64::from(u8::from(partition == victim.stream));
            own.frequency += FADING * (is - own.frequency);
        }
        let own = &mut self.partitions[usize::from(victim.stream)];
        let share = f64::from(victim.valid) / f64::from(victim.pages);
        own.utilization += FADING * f64::from(self.count) * (share - own.utilization);
        self.from = victim.stream;
        self.gives = self.gift(victim.stream, victim.valid);
    }

    fn own_victims(&mut self) -> Option<&mut dyn OwnVictims> {
        Some(self)
    }
}

impl OwnVictims for Envy {
    fn choose(&mut self, bank: u32, blocks: &BlockView, _now: u64) -> Choice {
        // Shares are equal except for the remainder of the division.
        let order = (0..self.count).map(|partition| (partition + self.wanted) % self.count);
        let more = &self.more;
        self.logs
            .choose(bank, blocks, order, |logs, log| {
                f64::from(more[usize::from(log)]) - f64::from(logs.len(bank, log))
            })
            .map_or(Choice::Victim, Choice::Clean)
    }

    fn replaced(&mut self, _bank: u32, old: BlockId, new: BlockId) {
        self.logs.replace(old, new);
    }
}

impl Placement for Envy {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        self.wanted = self.home[write.lpn().index()] & !SURVIVED;
        self.wanted
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.home[lpn.index()] &= !SURVIVED;
    }

    fn trimmed(&mut self, (): (), lpn: Lpn) {
        self.home[lpn.index()] = first_home(lpn, self.home.len(), self.count);
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), lpn: Lpn, _: u64) -> u8 {
        let home = &mut self.home[lpn.index()];
        let Gift { to, hot, left } = &mut self.gives;
        let survived = *home & SURVIVED != 0;
        let mut own = *home & !SURVIVED;
        // A page of the fill may belong to another partition than its block.
        if *left > 0 && *hot != survived && own == self.from {
            *left -= 1;
            own = *to;
        }
        *home = own | SURVIVED;
        own
    }

    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, ()>) -> Answer {
        survivors.fetch_and_ask(self)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.home, lpn.index());
    }
}

/// The partition of a page by its address.
fn first_home(lpn: Lpn, pages: usize, partitions: u8) -> u8 {
    (lpn.index() as u64 * u64::from(partitions) / pages as u64) as u8
}

impl Registered for Envy {
    const INFO: PolicyInfo = PolicyInfo {
        name: "envy",
        aliases: &["hybrid"],
        source: "Wu and Zwaenepoel 1994, eNVy; CAT paper Table 7",
        summary: "partitions cleaned in turn, hot data gathered at the bottom and cold at the top",
        params: EnvyParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = EnvyParams::read(args)?;
        let partitions = p.partitions.unwrap_or((context.blocks_of_bank() / 16).clamp(1, 8));
        let count = within("partitions", partitions, 1..=MOST as u32)? as u8;
        let pages = context.logical_pages.max(1) as usize;
        let mut home = vec![0; pages];
        for (lpn, home) in (0..).map(Lpn).zip(&mut home) {
            *home = first_home(lpn, pages, count);
        }
        let mut more = [0; MOST];
        if p.ranges {
            let blocks = context.blocks_of_bank();
            let begin = |partition: u32| blocks * partition / partitions;
            for (partition, more) in (0..partitions).zip(&mut more) {
                *more = begin(partition + 1) - begin(partition) - blocks / partitions;
            }
        }
        Ok(Self {
            home,
            count,
            logs: Logs::new(context, count),
            partitions: [Partition { utilization: 0.5, frequency: 1.0 / f64::from(count) }; MOST],
            wanted: 0,
            gives: Gift::default(),
            from: 0,
            asked: [Gift::default(); MOST],
            pull: p.pull,
            more,
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn envy(pairs: &[(&str, &str)]) -> Envy {
        let args =
            Args(pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect());
        let context =
            Context { logical_pages: 30, blocks: 20, pages_per_block: 8, ..Context::smallest() };
        Envy::build(&args, &context).expect("valid")
    }

    /// Three partitions with these products.
    fn with_products(pull: &str, products: [f64; 3]) -> Envy {
        let mut envy = envy(&[("partitions", "3"), ("pull", pull)]);
        for (partition, product) in envy.partitions.iter_mut().zip(products) {
            *partition = Partition { utilization: 0.5, frequency: product };
        }
        envy
    }

    fn parts(gift: Gift) -> (u8, bool, u32) {
        (gift.to, gift.hot, gift.left)
    }

    #[test]
    fn above_the_average_data_are_pushed_to_the_neighbour_with_less_to_do() {
        // The average is 2: the middle partition gives away a third of its survivors, the hot ones
        // downwards.
        assert_eq!(parts(with_products("no", [1.0, 3.0, 2.0]).gift(1, 9)), (0, true, 3));
        assert_eq!(parts(with_products("no", [2.0, 3.0, 1.0]).gift(1, 9)), (2, false, 3));
        assert_eq!(with_products("no", [1.0, 3.0, 2.0]).gift(0, 9).left, 0);
    }

    #[test]
    fn below_the_average_data_are_pulled_when_the_neighbour_is_cleaned_and_once() {
        let mut envy = with_products("yes", [2.0, 1.0, 3.0]);
        assert_eq!(envy.gift(1, 8).left, 0, "it gives nothing itself");
        // The average is 2: half of eight, the hottest of the colder neighbour.
        assert_eq!(parts(envy.asked[2]), (1, true, 4));
        envy.partitions[2].frequency = 2.0;
        envy.partitions[0].frequency = 3.0;
        assert_eq!(parts(envy.gift(2, 8)), (1, true, 4));
        assert_eq!(envy.gift(2, 8).left, 0, "once");
        // The coldest of the hotter neighbour.
        envy.gift(1, 8);
        assert_eq!(parts(envy.asked[0]), (1, false, 4));
    }

    #[test]
    fn ranges_share_what_is_left_of_the_division() {
        assert_eq!(envy(&[("partitions", "3"), ("ranges", "yes")]).more[..3], [0, 1, 1]);
        assert_eq!(envy(&[("partitions", "3")]).more[..3], [0, 0, 0]);
    }
}
