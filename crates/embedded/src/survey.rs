//! A look at the pages of a block: which of them count.

use super::{
    Area, Before, Error, Found, Ftl, Nand, NandError,
    area::is_mark,
    bisync,
    blocks::State,
    cache::LOST,
    log::{LANES, LEFT_OUT, MOST_VOID_OF_MARK, NOWHERE, Open},
    policy::{Placement, Victim},
};

/// What a look at the chip finds, beside what the layer knows from then on.
#[derive(Default)]
pub(crate) struct Scan {
    /// The number of the last program in the block that each stream had open last.
    tails: [u64; LANES],
    /// The numbers of the last programs of blocks, the newest ones.
    lasts: [u64; RECENT],
    /// The first programs after doubtful ones, the newest ones.
    firsts: Firsts,
    pub(crate) never: Never,
    /// The greatest number that can be read, though it may never count.
    pub(crate) seen: u64,
    /// Pages at the ends of blocks of which not even the area can be read: programs that nobody can see.
    pub(crate) torn: u64,
    /// The number of the newest program that counts.
    pub(crate) newest: u64,
    /// Of that one: what it says of the one before, and how many pages before it never count.
    pub(crate) before: Option<Before>,
    pub(crate) void: u8,
    pub(crate) is_mark: bool,
    /// Pages behind the last one that counts may be another time than now.
    pub(crate) is_cut: bool,
    /// There are pages that cannot be read.
    pub(crate) is_damaged: bool,
    /// There are changes of the map whose pages cannot be read.
    pub(crate) is_hurt: bool,
    /// All areas are to be looked at for pages that are lost.
    pub(crate) is_map_damaged: bool,
    /// Pages of the map that are lost, with numbers below which no change of them counts.
    pub(crate) lost_maps: [(u32, u64); 4],
    /// Pages of the map that areas tell again, more by one.
    pub(crate) told: [u32; 4],
    /// A page of the map has more changes than RAM has room for.
    pub(crate) is_full: bool,
    /// Valid pages are not counted yet: 1 stands for a block whose last page can be read, and said when that was programmed.
    pub(crate) knows_ends: bool,
    /// The greatest number that was read of a block so far.
    pub(crate) greatest: u64,
    /// Snapshots are taken, and only what was programmed behind them is looked at: behind that number.
    pub(crate) is_tail: bool,
    pub(crate) floor: u64,
    /// All valid pages are to be counted.
    pub(crate) recounts: bool,
    /// What was found is to be looked for on the whole chip.
    pub(crate) gives_up: bool,
    /// The layer's buffer holds the numbers of so many pages of the map, in two bytes each, less the horizon.
    pub(crate) noted: u32,
}

/// Programs that never count.
#[derive(Clone, Copy, Default)]
pub(crate) struct Never {
    /// All from this one on, if it is not 0: they were being programmed when the power failed, and cannot be read.
    pub(crate) from: u64,
    /// Those behind this one, if it is not 0, are this mount's own.
    pub(crate) until: u64,
    /// Those that these left out: earlier mounts did not find them.
    firsts: Firsts,
}

/// Programs that were the first after a doubtful one: their numbers, and in the low 12 bits how many they left out.
type Firsts = [u64; RECENT];

/// So many losses of power one after another may each leave the end of a block that seems to be newer than what came before.
const RECENT: usize = 16;

/// Whether a number is among those that this one left out.
fn leaves_out(first: u64, number: u64) -> bool {
    let (first, left_out) = (first >> 12, (first & 0xfff) * LEFT_OUT);
    number < first && first - number <= left_out
}

/// Whether a number is among those that these left out.
fn is_left_out(firsts: &Firsts, number: u64) -> bool {
    firsts.iter().any(|&first| leaves_out(first, number))
}

/// Keeps the greatest.
fn keep(greatest: &mut [u64], one: u64) {
    if !greatest.contains(&one)
        && let Some(least) = greatest.iter_mut().min()
        && *least < one
    {
        *least = one;
    }
}

/// One that another one leaves out says nothing: it took the place of what counts.
fn prune(firsts: &mut Firsts) {
    let mut below = u64::MAX;
    while let Some(&first) = firsts.iter().filter(|&&first| first < below).max() {
        below = first;
        let left_out = firsts.iter_mut().filter(|other| leaves_out(first, **other >> 12));
        left_out.for_each(|other| *other = 0);
    }
}

/// Keeps a first program; where there is no room, those go first that say nothing.
fn keep_first(firsts: &mut Firsts, one: u64) {
    if !firsts.contains(&0) {
        prune(firsts);
    }
    keep(firsts, one);
}

impl Scan {
    /// Another look, which knows what never counts.
    #[inline(never)]
    pub(crate) fn restart(&mut self, is_tail: bool) {
        let never = Never { until: 0, ..self.never };
        *self = Self { never, is_tail, ..Self::default() };
    }

    /// What never counts is known better than before this look.
    pub(crate) fn learn(&mut self) -> bool {
        prune(&mut self.firsts);
        let is_new = self.never.firsts != self.firsts
            && self.lasts.iter().any(|&last| is_left_out(&self.firsts, last));
        if is_new {
            self.never.firsts = self.firsts;
        }
        is_new
    }
}

/// A page that was programmed.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    Counts(Area),
    /// What it holds never counts. What it says of the program before it is true.
    Never(Area),
    /// It cannot be read, and was done.
    Torn,
}

/// A look at the pages of a block, the last one first; and when it is over, what was found.
pub(crate) struct Survey {
    block: u32,
    /// The page from which on the snapshots do not know the pages, and the one that was looked at last.
    start: u32,
    page: u32,
    /// That page on the chip, and what it is.
    pub(crate) at: u32,
    pub(crate) entry: Entry,
    /// Behind the last page that was programmed, and behind the last one that counts.
    end: u32,
    good: u32,
    /// Pages that come next and never count, and programs that nobody can see.
    void: u8,
    hidden: u64,
    /// The number of the page that was looked at last.
    later: u64,
    is_begun: bool,
    is_over: bool,
    /// The number of the last program that counts.
    pub(crate) last: u64,
    /// Pages behind that one may never count.
    pub(crate) is_cut: bool,
    /// One before it cannot be read.
    pub(crate) is_torn: bool,
}

impl Survey {
    /// Of a block; [`surveyed`](Ftl::surveyed) looks at its pages.
    #[inline(never)]
    pub(crate) const fn of(block: u32) -> Self {
        Self {
            block,
            start: 0,
            page: 0,
            at: 0,
            entry: Entry::Torn,
            end: 0,
            good: 0,
            void: 0,
            hidden: 0,
            later: u64::MAX,
            is_begun: false,
            is_over: false,
            last: 0,
            is_cut: false,
            is_torn: false,
        }
    }

    /// Of nothing.
    pub(crate) const fn over() -> Self {
        Self { is_begun: true, is_over: true, ..Self::of(0) }
    }
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Looks at the next page of the block that was programmed; false when all are told. What the block is worth to
    /// be opened again is kept then.
    pub(crate) async fn surveyed(
        &mut self,
        survey: &mut Survey,
        scan: &mut Scan,
    ) -> Result<bool, Error> {
        if !survey.is_begun {
            self.begin_survey(survey, scan).await?;
        }
        let Survey { block, start, .. } = *survey;
        while survey.page > start && !survey.is_over {
            survey.page -= 1;
            let at = block * self.shape.pages + survey.page;
            survey.at = at;
            let mut found = self.area(at).await?;
            if found == Found::Torn {
                // A bit of the area turned, if the page can be read, and what the area says but for that is of this block.
                if let Some(area) = self.known_area(at).await?
                    && area.sequence < survey.later
                    && (area.after.is_some()
                        || area.erases == u32::from(self.blocks[block as usize].erases))
                    && self.is_programmed(at, area.ones).await?
                {
                    found = Found::Page(area);
                }
            }
            if found == Found::Blank && survey.end == start {
                continue;
            }
            survey.end = survey.end.max(survey.page + 1);
            let is_void = survey.void > 0;
            survey.void = survey.void.saturating_sub(1);
            let area = match found {
                Found::Page(area) => area,
                Found::Torn if survey.good > start && !is_void => {
                    survey.is_torn = true;
                    survey.entry = Entry::Torn;
                    return Ok(true);
                }
                Found::Torn if survey.good == start => {
                    survey.hidden += 1;
                    continue;
                }
                _ => continue,
            };
            survey.later = area.sequence;
            scan.seen = scan.seen.max(area.sequence);
            if is_void
                || is_left_out(&scan.never.firsts, area.sequence)
                || area.sequence <= scan.floor
            {
                survey.entry = Entry::Never(area);
                return Ok(true);
            }
            let is_mark = is_mark(area.content, area.number);
            let Never { from, until, .. } = scan.never;
            let is_own = until != 0 && area.sequence > until;
            let counts = from == 0 || area.sequence < from || is_own;
            if counts || is_mark {
                survey.void = area.void;
                if let Some(Before::First(left_out)) = area.before {
                    keep_first(&mut scan.firsts, area.sequence << 12 | u64::from(left_out));
                }
            }
            if !counts {
                survey.entry = Entry::Never(area);
                return Ok(true);
            }
            if survey.good == start {
                (survey.good, survey.last) = (survey.page + 1, area.sequence);
                keep(&mut scan.lasts, area.sequence);
            }
            if area.sequence > scan.newest || self.newest == NOWHERE {
                (scan.newest, self.newest) = (area.sequence, at);
                (scan.before, scan.void, scan.is_mark) = (area.before, area.void, is_mark);
            }
            if !is_mark {
                survey.entry = Entry::Counts(area);
                return Ok(true);
            }
        }
        if !survey.is_over {
            survey.is_over = true;
            self.end_survey(survey, scan);
        }
        Ok(false)
    }

    async fn begin_survey(&mut self, survey: &mut Survey, scan: &Scan) -> Result<(), Error> {
        let (block, pages) = (survey.block, self.shape.pages);
        survey.page = pages;
        if self.knows_end(block, scan) && self.area(block * pages).await? == Found::Blank {
            // An erase of it was cut off.
            self.blocks[block as usize].set_state(State::Stale);
            self.free += 1;
            survey.is_over = true;
        } else if scan.is_tail {
            // The snapshots know the pages before.
            let start = self.tail_from(block).unwrap_or(pages);
            (survey.start, survey.end, survey.good) = (start, start, start);
            survey.page = self.end_of_tail(block, start).await?;
            survey.last = if start > 0 { scan.floor } else { 0 };
        }
        survey.is_begun = true;
        Ok(())
    }

    /// Whether a page cannot be read, and another one takes its place that has the same number. Where no number is on the chip that
    /// is greater than all that are hidden, a copy that was tried before another one may have it, of the same page.
    pub(crate) async fn is_twin(&mut self, of: u32, page: u32) -> Result<bool, Error> {
        Ok(of < LOST && of != page && !self.is_programmed(of, true).await?)
    }

    fn end_survey(&mut self, survey: &mut Survey, scan: &mut Scan) {
        let Survey { block, end, good, last, .. } = *survey;
        let cut = (end - good) as u16;
        scan.is_damaged |= cut > 0 || survey.is_torn;
        if self.blocks[block as usize].state() == State::Failing {
            return;
        }
        if cut > 0 {
            (survey.is_cut, scan.is_cut) = (true, true);
            let home = &mut self.blocks[block as usize];
            if home.state() != State::Kept {
                scan.torn += survey.hidden;
            }
            home.keep(good);
        }
        let lane = usize::from(self.blocks[block as usize].stream()).min(LANES - 1);
        if cut <= MOST_VOID_OF_MARK && last > scan.tails[lane] {
            scan.tails[lane] = last;
            self.open[lane] = Open::at(block, end as u16, cut);
        }
    }

    /// Whether a page can be read and holds something, or ones that were programmed. The layer's buffer is left alone: it may hold
    /// the page of the map for which this look at the chip is.
    async fn is_programmed(&mut self, page: u32, ones: bool) -> Result<bool, Error> {
        let mut piece = [0; 16];
        for offset in (0..self.shape.page_size).step_by(piece.len()) {
            let length = piece.len().min((self.shape.page_size - offset) as usize);
            let Some(piece) = piece.get_mut(..length) else { continue };
            match self.nand.read(page, offset, piece).await {
                Ok(()) if ones || piece.iter().any(|&byte| byte != 0xff) => return Ok(true),
                Ok(()) => {}
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Whether a block holds pages that were written.
    pub(crate) fn is_written(&self, block: u32) -> bool {
        matches!(
            self.blocks[block as usize].state(),
            State::Closed | State::Kept | State::Open | State::Failing
        )
    }

    /// Whether the table says when the last page of a block was programmed, about.
    fn knows_end(&self, block: u32, scan: &Scan) -> bool {
        let home = self.blocks[block as usize];
        scan.knows_ends && home.state() == State::Closed && home.valid() == 1
    }

    /// Whether programs with greater numbers than that one may be in a block.
    pub(crate) async fn ends_behind(
        &mut self,
        block: u32,
        number: u64,
        scan: &Scan,
    ) -> Result<bool, Error> {
        if scan.is_tail {
            return Ok(self.tail_from(block).is_some());
        }
        let step = self.step();
        // The clock goes around.
        if self.knows_end(block, scan) && scan.greatest.saturating_sub(number) >> step < 1 << 14 {
            let clock = (number >> step) as u16;
            match self.blocks[block as usize].opened.wrapping_sub(clock) {
                0 => {}
                ahead => return Ok(ahead < 1 << 15),
            }
        }
        Ok(self.last_sequence(block).await? > number)
    }

    /// The number of the last program of a block; all of it if that cannot be said at once.
    pub(crate) async fn last_sequence(&mut self, block: u32) -> Result<u64, Error> {
        let last = (block + 1) * self.shape.pages - 1;
        let mut found = self.area(last).await?;
        // Early after a mount pages are left blank.
        for behind in 1..self.shape.pages.min(3) {
            if found == Found::Blank {
                found = self.area(last - behind).await?;
            }
        }
        Ok(if let Found::Page(area) = found { area.sequence } else { u64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::{RECENT, is_left_out, keep_first};

    #[test]
    fn an_old_first_program_is_kept_where_newer_ones_leave_each_other_out() {
        let mut firsts = [0; RECENT];
        // It leaves out 985 to 1000; the others all that is behind 2000.
        keep_first(&mut firsts, 1001 << 12 | 1);
        for attempt in 1..=2 * RECENT as u64 {
            keep_first(&mut firsts, (2001 + 16 * attempt) << 12 | attempt);
        }
        assert!(is_left_out(&firsts, 990));
        assert!(is_left_out(&firsts, 2001));
        assert!(!is_left_out(&firsts, 1500));
    }
}
