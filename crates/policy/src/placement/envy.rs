//! eNVy's hybrid cleaning: partitions, first in first out inside, locality gathered between them
//! (Wu and Zwaenepoel 1994; CAT paper, Table 7).
//!
//! The flash is divided into partitions of adjacent segments. Data that the host writes go back to the
//! partition they come from, so each keeps data of its own. Inside a partition segments are cleaned in
//! the order they were written. Between neighbours data move so that the frequency of cleaning
//! times its cost comes to the same in each: a partition above the average gives away data, hot ones
//! towards the bottom (partition 0), cold ones towards the top.
//!
//! Our readings, for a log whose free blocks are shared:
//! * a partition is a stream; it has no blocks of its own but a share in them, the same for each. The
//!   partition that is furthest above its share, counted in blocks, is cleaned, and of those equally
//!   far the one the host writes to. So partitions keep their size, as in the paper, and those with
//!   less data have more spare space;
//! * at first a page belongs to the partition of its address, all partitions having equally many;
//!   so the fill, which is one stream, is taken apart as it is cleaned;
//! * the cost of cleaning at utilisation u is `u/(1 − u)`, u being that of a partition's victims of
//!   late, and the frequency is its victims among those of late: the mean of the last 64 or so;
//! * data move when they survive: cleaning a partition above the average by a part `p` gives away the
//!   same part of the survivors, to the neighbour whose product is less. Downwards go pages
//!   that the host wrote since they were last cleaned, which are the hottest here, upwards the others.
//!   `pull=yes` pulls as well: cleaning a partition below the average by a part `p` asks that part of
//!   its survivors' number of the neighbour whose product is greater. A cleaning moves pages of its own block
//!   only, so the neighbour gives them when it is cleaned next, unless it gives data away itself then:
//!   hot pages downwards, others upwards, as above;
//! * `ranges=yes` gives each partition the share that its range of adjacent segments would be, in whole
//!   blocks, where shares are equal otherwise. Which blocks these are is left to the shared list of free
//!   ones, which changes the wear of each block and no count;
//! * a block of garbage only, at the head of any queue, comes first, for it costs nothing; blocks without
//!   garbage at the head of the partition to be cleaned go to its end, eight of them at most, then
//!   another partition is cleaned, and where all are in the way the victim policy chooses;
//! * read-only data are one more queue, whose oldest block is cleaned when half of it is garbage.
//!
//! Cost: a byte a page, 12 bytes a block; a victim takes a few steps for each partition.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn, prefetch};

use super::{
    Answer, Choice, Cleaning, Entry, HostWrite, OwnVictims, Placement, Registered, Streams,
    Survivors, logs::Logs,
};
use crate::{Args, BlockView, Context, ParamError, PolicyInfo, params, params::within};

/// Partitions at most.
const MOST: usize = 32;
/// How much a victim counts in the means of its partition.
const FADING: f64 = 1.0 / 64.0;
/// The bit of a page that survived since the host wrote it; the others are its partition.
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

/// Partitions of the device; see above.
#[derive(Clone, Debug)]
pub struct Envy {
    /// The partition of each page, and whether it survived.
    home: Vec<u8>,
    count: u8,
    logs: Logs,
    partitions: [Partition; MOST],
    /// The partition of the host's last write.
    wanted: u8,
    /// What the victim at hand gives away.
    gives: Gift,
    from: u8,
    /// What a neighbour asked of each partition.
    asked: [Gift; MOST],
    pull: bool,
    /// Blocks of each partition beyond what all have.
    more: [u32; MOST],
}

/// Pages that go to another partition.
#[derive(Clone, Copy, Debug, Default)]
struct Gift {
    to: u8,
    /// Whether those that the host wrote since they were last cleaned, or the others.
    hot: bool,
    /// How many there are yet to give.
    left: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Partition {
    /// Valid share of its victims of late.
    utilization: f64,
    /// Its share of the victims of late.
    frequency: f64,
}

impl Partition {
    /// Frequency of cleaning times its cost.
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

    /// What a partition gives away of `valid` survivors; one below the average asks a neighbour.
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
        // The share of each partition is the same but for the rest of a division.
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
        // A page of the fill belongs elsewhere than where it lies.
        if *left > 0 && *hot != survived && own == self.from {
            *left -= 1;
            own = *to;
        }
        *home = own | SURVIVED;
        own
    }

    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, ()>) -> Answer {
        for &lpn in survivors.pages() {
            self.prefetch(lpn);
        }
        survivors.ask(self)
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

    /// Three partitions whose products are these.
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
        // The average is 2: the middle one gives a third of its survivors, hot ones downwards.
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
        // Of the hotter neighbour the coldest.
        envy.gift(1, 8);
        assert_eq!(parts(envy.asked[0]), (1, false, 4));
    }

    #[test]
    fn ranges_share_what_is_left_of_the_division() {
        assert_eq!(envy(&[("partitions", "3"), ("ranges", "yes")]).more[..3], [0, 1, 1]);
        assert_eq!(envy(&[("partitions", "3")]).more[..3], [0, 0, 0]);
    }
}
