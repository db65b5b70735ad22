//! The log: each stream writes the pages of its open block, one after another.

use super::{
    AREA, Area, Before, Content, Error, Found, Ftl, Nand, NandError,
    area::{MAP_MARK, MARK, WITH_TRIMS, is_mark},
    bisync,
    blocks::{NO_END, State},
    cache::LOST,
    error::device,
    policy::{Old, Placement, Victim},
    snapshot::Snapshots,
};

/// The block that all streams share while free blocks are scarce: of the map it holds pages as well as of data.
pub(crate) const SHARED: usize = crate::MAX_STREAMS;
/// The stream of the map's pages.
pub(crate) const MAP_STREAM: usize = SHARED + 1;
/// Blocks that are open at most.
pub(crate) const LANES: usize = MAP_STREAM + 1;
/// No block, or no page.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// Free blocks that are left when no stream opens a block of its own any more.
pub(crate) const SCARCE: u32 = 2;
/// Pages at most that one program says never count; and a mark, or the first program after a doubtful one.
const MOST_VOID: u16 = 3;
pub(crate) const MOST_VOID_OF_MARK: u16 = 255;
/// Numbers are left out by so many.
pub(crate) const LEFT_OUT: u64 = 16;
/// Programs after a mount, in blocks, for which so many pages at the end of a block stay blank: where the power comes and goes,
/// there is always a page behind the one that was cut off, and the one after it, to say that they never count.
pub(crate) const EARLY: u32 = 8;
const BEHIND: u32 = 2;

/// The open block of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) block: u32,
    /// The block before.
    pub(crate) previous: u32,
    /// The page that is programmed next.
    pub(crate) next: u16,
    /// Pages right before it that were cut off: the next program says that they never count.
    pub(crate) cut: u16,
}

impl Open {
    pub(crate) const NONE: Self = Self::at(NOWHERE, 0, 0);

    pub(crate) const fn at(block: u32, next: u16, cut: u16) -> Self {
        Self { block, next, cut, previous: NOWHERE }
    }
}

/// What is programmed.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'d> {
    Host(&'d [u8]),
    /// The layer's buffer.
    Buffer,
    /// What that page holds.
    Copy(u32),
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Programs the next page of a stream. Where a program fails, the block is left for good and another one
    /// is taken.
    pub(crate) async fn append(
        &mut self,
        stream: usize,
        content: Content,
        number: u32,
        payload: Payload<'_>,
    ) -> Result<u32, Error> {
        self.snapshots.is_busy = matches!(payload, Payload::Buffer);
        if !self.snapshots.is_busy {
            self.keep_up().await?;
        }
        let done = self.append_anywhere(stream, content, number, payload).await;
        self.snapshots.is_busy = false;
        done
    }

    async fn append_anywhere(
        &mut self,
        stream: usize,
        content: Content,
        number: u32,
        payload: Payload<'_>,
    ) -> Result<u32, Error> {
        loop {
            let lane = self.lane(stream).await?;
            let done = self.append_to(lane, content, number, payload).await;
            if done != Err(Error::WornOut) {
                return done;
            }
        }
    }

    /// Programs the next page of an open block, behind a mark where one is needed. [`Error::WornOut`] if a program failed: the
    /// block is left.
    async fn append_to(
        &mut self,
        lane: usize,
        content: Content,
        number: u32,
        payload: Payload<'_>,
    ) -> Result<u32, Error> {
        let is_void = |open: &Open| open.cut > MOST_VOID;
        if self.open.get(lane).is_some_and(is_void) && self.before.is_some() {
            self.mark(lane).await?;
            if !self.has_pages(lane, 0) {
                return Err(Error::WornOut);
            }
        }
        self.program_next(lane, content, number, payload).await
    }

    async fn program_next(
        &mut self,
        lane: usize,
        content: Content,
        number: u32,
        payload: Payload<'_>,
    ) -> Result<u32, Error> {
        self.snapshots.is_saved = false;
        if !self.snapshots.is_kept_up {
            self.outdate_snapshot().await?;
        }
        let lane = lane.min(LANES - 1);
        let is_mark = is_mark(content, number);
        let Open { block, next, cut, .. } = self.open[lane];
        let to = block * self.shape.pages + u32::from(next);
        let is_map = content == Content::Map;
        let content = if is_map { content } else { Content::Data(lane.min(SHARED) as u8) };
        let data = match payload {
            Payload::Host(data) => data,
            _ => &self.buffer,
        };
        let ones = !matches!(payload, Payload::Copy(_)) && data.iter().all(|&byte| byte == 0xff);
        let trims = if is_map && self.knows_of_trims { WITH_TRIMS } else { 0 };
        // A number is used for one program, whatever comes of it: the chip may have done what it reports as failed.
        let sequence = match self.before {
            Some(_) => self.sequence + 1,
            None => self.leave_out_numbers(),
        };
        self.sequence = sequence;
        let mut area = [0; AREA];
        Area {
            content,
            erases: u32::from(self.blocks[block as usize].erases),
            number,
            after: self.after.filter(|_| is_map),
            sequence,
            before: self.before,
            void: cut as u8,
            ones,
        }
        .encode_into(&mut area);
        let done = match payload {
            Payload::Host(data) => self.nand.program(to, data, &area).await,
            Payload::Buffer => self.nand.program(to, &self.buffer, &area).await,
            Payload::Copy(from) => self.nand.copy(from, to, &area, &mut self.buffer).await,
        };
        match done {
            Ok(()) => {
                self.owed += 1;
                self.fresh = self.fresh.saturating_sub(1);
                (self.counts, self.left_out_from) = (sequence, sequence);
                self.before = Some(match content {
                    Content::Data(_) => Before::Data(number),
                    _ => Before::Map(number | trims),
                });
                if is_mark {
                    self.advance(lane, 0, State::Closed);
                    return Ok(to);
                }
                if is_map && !self.nand.is_cached() {
                    self.after = Some(number | trims);
                }
                self.last = to;
                let home = &mut self.blocks[block as usize];
                home.set_valid(home.valid() + 1);
                self.advance(lane, 0, State::Closed);
                Ok(to)
            }
            // Nothing was programmed.
            Err(NandError::Unreadable) => {
                self.sequence -= 1;
                Err(Error::Unreadable(number))
            }
            Err(NandError::Failed) => {
                self.counters.failed_blocks += 1;
                self.doubt();
                self.leave(lane, State::Failing);
                Err(Error::WornOut)
            }
            // It may be programmed, or in part: it must never count.
            Err(NandError::Device) => {
                self.doubt();
                if next == 0 || cut > 0 {
                    // A mount takes it for blank, where it is, and looks no further.
                    self.leave(lane, State::Kept);
                } else {
                    self.advance(lane, cut + 1, State::Kept);
                    if self.is_cut(lane) {
                        // What stands right behind a page says that it was done.
                        self.leave_out(lane);
                    }
                }
                Err(Error::Device)
            }
        }
    }

    /// A program may be done or not. It never counts; and the one before it is written again, as no program says what that
    /// was.
    fn doubt(&mut self) {
        self.before = None;
        self.is_settled = false;
        if self.newest == NOWHERE {
            (self.newest, self.is_sure) = (self.last, true);
        }
    }

    /// The number of the first program after a doubtful one. It says how many it leaves out.
    fn leave_out_numbers(&mut self) -> u64 {
        let left_out = (self.sequence - self.left_out_from).div_ceil(LEFT_OUT);
        self.before = Some(Before::First(left_out.min(0xffff) as u16));
        self.left_out_from + left_out * LEFT_OUT + 1
    }

    /// Says in an open block that the pages before never count.
    pub(crate) async fn mark(&mut self, lane: usize) -> Result<(), Error> {
        let (content, mark) = if lane < SHARED {
            (Content::Data(lane as u8), MARK)
        } else {
            (Content::Map, MAP_MARK)
        };
        let number = mark | self.open.get(lane).map_or(0, |open| u32::from(open.cut));
        self.program_next(lane, content, number, Payload::Buffer).await.map(drop)
    }

    /// The next page of an open block is used up; where it was the last one, the block is closed.
    fn advance(&mut self, lane: usize, cut: u16, state: State) {
        let open = &mut self.open[lane];
        open.next += 1;
        open.cut = cut;
        if cut > MOST_VOID_OF_MARK {
            self.leave(lane, State::Kept);
        } else if u32::from(open.next) == self.shape.pages {
            self.end(lane, state);
        }
    }

    pub(crate) fn has_room(&self, lane: usize) -> bool {
        let is_early = self.fresh > 0 && !self.nand.is_cached();
        let behind = if is_early && self.shape.pages >= 8 * BEHIND { BEHIND } else { 0 };
        self.has_pages(lane, behind)
    }

    pub(crate) fn has_pages(&self, lane: usize, behind: u32) -> bool {
        let has_room =
            |open: &Open| open.block != NOWHERE && u32::from(open.next) + behind < self.shape.pages;
        self.open.get(lane).is_some_and(has_room)
    }

    /// Whether the next page of an open block is to say that those before it never count.
    pub(crate) fn is_cut(&self, lane: usize) -> bool {
        self.open.get(lane).is_some_and(|open| open.cut > 0) && self.has_pages(lane, 0)
    }

    /// The open block that the next page of a stream goes to. While free blocks are scarce that is any with room, and
    /// then one for all. The first program after a doubtful one goes behind it, if it may, and says that it never counts.
    pub(crate) async fn lane(&mut self, stream: usize) -> Result<usize, Error> {
        let is_map = stream == MAP_STREAM;
        // A mount looks for pages of the map in the map's blocks and in the one that is shared.
        let first = if is_map { SHARED } else { 0 };
        if self.before.is_none() || self.is_tight() {
            let is_cut = |&lane: &usize| self.is_cut(lane);
            if let Some(lane) = (first..LANES).find(is_cut) {
                return Ok(lane);
            }
        }
        // What its number is must be on the chip before anything is erased that others cannot be told from.
        if self.before.is_none()
            && !self.nand.is_cached()
            && !self.has_pages(stream, 0)
            && let Some(lane) = (first..LANES).find(|&lane| self.has_pages(lane, 0))
        {
            return Ok(lane);
        }
        if self.has_room(stream) {
            return Ok(stream);
        }
        if is_map && self.has_room(SHARED) {
            return Ok(SHARED);
        }
        let is_scarce = self.free <= SCARCE;
        // A mount looks for pages of the map in the map's blocks and in the one that is shared: the fewer the better.
        let lanes = match is_map {
            true if is_scarce => SHARED..LANES,
            true => 0..0,
            false if is_scarce => 0..LANES,
            // Cleaning counts on the free blocks that are left, even if streams mix; soon after a mount it makes more at once.
            false if self.free <= self.watermarks().0 && !self.is_early() => 0..SHARED,
            false => 0..0,
        };
        for lane in lanes {
            if self.has_room(lane) {
                return Ok(lane);
            }
        }
        let lane = if is_scarce { SHARED } else { stream };
        self.open_block(lane).await.map(|()| lane)
    }

    /// Nothing more is programmed into the open block of a stream.
    pub(crate) fn leave(&mut self, stream: usize, state: State) {
        self.end(stream, state);
        self.open[stream] = Open::NONE;
    }

    pub(crate) fn end(&mut self, stream: usize, state: State) {
        let Open { block, next, cut, .. } = self.open[stream];
        let home = &mut self.blocks[block as usize];
        if state == State::Kept {
            home.keep(u32::from(next.saturating_sub(cut)));
        } else {
            home.set_state(state);
        }
    }

    /// Opens a free block: of those that are blank the one erased least.
    async fn open_block(&mut self, stream: usize) -> Result<(), Error> {
        let previous = self.open[stream].block;
        let block = loop {
            let Snapshots { is_kept_up, announced, .. } = self.snapshots;
            let free = self.blocks.iter().zip(0_u32..).filter(|(block, number)| {
                block.is_free() && (!is_kept_up || announced.contains(number))
            });
            let best = free.min_by_key(|(block, _)| (block.rank(), block.erases));
            let Some((_, block)) = best else {
                if is_kept_up && self.free > 0 {
                    // A mount would not look at any other one.
                    self.save_early().await?;
                    if self.snapshots.is_kept_up && self.announced_left() == 0 {
                        self.outdate_snapshot().await?;
                    }
                    continue;
                }
                let block = self.useless_block().await?;
                self.erase(block).await?;
                continue;
            };
            match self.blocks[block as usize].state() {
                State::Blank => break block,
                // What a power cut left there may be anything.
                State::Stale => {
                    let is_wanted = self.is_wanted(block).await?;
                    self.let_go(block).await?;
                    self.free -= 1;
                    if is_wanted {
                        self.blocks[block as usize].keep(NO_END);
                        continue;
                    }
                    self.erase(block).await?;
                }
                _ => self.sync_erases().await?,
            }
        };
        if self.has_pages(stream, 0) {
            // Early after a mount its last pages stay blank.
            let is_cut = self.open[stream].cut > 0;
            self.leave(stream, if is_cut { State::Kept } else { State::Closed });
        }
        let opened = self.stamp();
        let home = &mut self.blocks[block as usize];
        home.set_state(State::Open);
        home.set_stream(stream as u8);
        home.set_valid(0);
        home.opened = opened;
        self.free -= 1;
        self.open[stream] = Open { previous, ..Open::at(block, 0, 0) };
        Ok(())
    }

    /// A block to which nothing leads, where no other is free; rather one that is not wanted.
    async fn useless_block(&mut self) -> Result<u32, Error> {
        let mut any = Err(Error::WornOut);
        for block in 0..self.shape.blocks {
            let home = self.blocks[block as usize];
            let is_cleaned = self.cleaning.is_some_and(|cleaning| cleaning.block == block);
            if !matches!(home.state(), State::Kept | State::Closed)
                || home.valid() > 0
                || is_cleaned
            {
                continue;
            }
            if !self.is_wanted(block).await? {
                return Ok(block);
            }
            any = Ok(block);
        }
        any
    }

    /// Of the blocks at whose ends something never counts, as the first program behind it in another block says: the one that was
    /// cut off before all others, and the number of the last program there that counts. All that is said of such ends was said
    /// by later programs.
    pub(crate) async fn first_cut(&mut self, but: u32) -> Result<(u64, u32), Error> {
        let mut first = (u64::MAX, NOWHERE);
        for block in 0..self.shape.blocks {
            let is_open = |&lane: &usize| self.open[lane].block == block && self.is_cut(lane);
            let end = match (0..LANES).find(is_open).and_then(|lane| self.open.get(lane)) {
                Some(open) => Some(u32::from(open.next.saturating_sub(open.cut))),
                None => self.blocks[block as usize].cut_from(),
            };
            let Some(end) = end.filter(|_| block != but) else { continue };
            let mut last = 0;
            for page in (0..end.min(self.shape.pages)).rev() {
                if let Some(area) = self.known_area(block * self.shape.pages + page).await? {
                    last = area.sequence;
                    break;
                }
            }
            if last < first.0 {
                first = (last, block);
            }
        }
        Ok(first)
    }

    /// Whether a block is rather not erased before all is settled: it holds what would count, should what a mount found as the
    /// newest page not be readable any more; or it says that a page never counts which is still there.
    pub(crate) async fn is_wanted(&mut self, block: u32) -> Result<bool, Error> {
        let is_doubtful = self.newest != NOWHERE && !self.is_sure;
        let newest = if is_doubtful { self.known_area(self.newest).await? } else { None };
        if is_doubtful && newest.is_none() {
            return Err(Error::Unreadable(0));
        }
        let (cut, _) = self.first_cut(block).await?;
        if !is_doubtful && cut == u64::MAX {
            return Ok(false);
        }
        let end = self.blocks[block as usize].cut_from().unwrap_or(self.shape.pages);
        for page in block * self.shape.pages..block * self.shape.pages + end {
            if let Found::Page(area) = self.area(page).await? {
                let is_predecessor = newest.is_some_and(|newest| {
                    let is_map = |area: &Area| area.content == Content::Map;
                    area.number == newest.number && is_map(&area) == is_map(&newest)
                });
                let is_first = matches!(area.before, Some(Before::First(_)));
                if is_predecessor || is_first && area.sequence > cut {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Erases a block that holds nothing that is needed; a block that fails is bad from then on.
    pub(crate) async fn erase(&mut self, block: u32) -> Result<(), Error> {
        self.let_go(block).await?;
        let home = &mut self.blocks[block as usize];
        home.set_valid(0);
        self.reads.erased(block);
        match self.nand.erase(block).await {
            Ok(()) => {
                home.erases = home.erases.saturating_add(1);
                home.set_state(State::Erased);
                self.counters.erases += 1;
                self.unlevelled += 1;
                self.free += 1;
                Ok(())
            }
            Err(NandError::Device) => {
                // What never counts there may be there still, and what says so in another block stays.
                if home.cut_from().is_none() {
                    home.set_state(State::Stale);
                    self.free += 1;
                }
                Err(Error::Device)
            }
            Err(_) => {
                self.counters.failed_blocks += 1;
                self.retire(block).await
            }
        }
    }

    /// A block is bad from now on.
    pub(crate) async fn retire(&mut self, block: u32) -> Result<(), Error> {
        self.outdate_snapshot().await?;
        self.blocks[block as usize].retire();
        self.nand.mark_bad(block).await.map_err(device)
    }

    /// Makes erases last: a block is not written before, or what it held could come back among what is written.
    async fn sync_erases(&mut self) -> Result<(), Error> {
        self.nand.sync_erases().await.map_err(device)?;
        for block in self.blocks.iter_mut().filter(|block| block.state() == State::Erased) {
            block.set_state(State::Blank);
        }
        Ok(())
    }

    /// A page is not current any more.
    pub(crate) fn invalidate(&mut self, at: u32) {
        let block = (at / self.pages()) as usize;
        let block = &mut self.blocks[block];
        block.set_valid(block.valid().saturating_sub(1));
    }

    /// What the placement is told of the copy that a page replaces.
    pub(crate) fn whereabouts(&self, old: u32) -> Option<Old> {
        if old >= LOST {
            return None;
        }
        let (block, page) = (old / self.pages(), old % self.pages());
        let stream = self.blocks[block as usize].stream();
        let open = &self.open[usize::from(stream).min(MAP_STREAM)];
        let near = open.block == block || open.previous == block && u32::from(open.next) < page;
        Some(Old { stream, near })
    }

    /// Programs in a step of the log's clock: a hundredth of the chip, about, as a power of two.
    pub(crate) fn step(&self) -> u32 {
        (self.shape.blocks * self.shape.pages / 64).max(2).ilog2() - 1
    }

    /// The log's clock.
    pub(crate) fn stamp(&self) -> u16 {
        (self.sequence >> self.step()) as u16
    }
}
