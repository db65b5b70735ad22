//! Finding a store on its chip: without a table of pages.
//!
//! 1. The area of each block's first page says what the block is. All pages of the map's blocks are looked at, and
//!    of each page of the map the newest copy counts.
//! 2. The newest of them names the horizon. Data that were written after it, and after the page of the map that has
//!    them, are changes of the map that were lost with the RAM: they are found in the blocks that end behind it.
//! 3. The page that was programmed last may have been cut off. If it cannot be read, all is found once more without it.
//!    Any other page that cannot be read was whole once: the map leads to it, and reading it is an error.
//!    Where even the area of a page cannot be read, its successor says what it was: then that is an error, and no older copy
//!    takes its place.
//! 4. Every page of the map is read once, to count the valid pages of each block.
//! 5. Blocks that were open are open again ([`resume`](crate::resume)).

use crate::{
    AREA, Area, Before, Content, Error, Found, Ftl, Memory, Misfit, Nand, NandError,
    area::{WITH_TRIMS, mend},
    blocks::{MOST_PAGES, State},
    cache::{LOST, NONE},
    format::BEGUN,
    ftl::device,
    header::{self, Header},
    log::{LANES, MAP_STREAM, MOST_VOID_FIRST, NOWHERE, Open},
    policy::{Placement, Victim},
    resume::ALSO_HIDDEN,
};

/// Looks at the chip at most: after each something is known that never counts.
const MOST_SCANS: u32 = 32;

/// What a look at the chip finds, beside what the layer knows from then on.
#[derive(Default)]
struct Scan {
    /// The number of the last program in the block that each stream had open last.
    tails: [u64; LANES],
    /// The numbers of the last programs of blocks, the newest ones.
    lasts: [u64; RECENT],
    /// The first programs after mounts, the newest ones.
    firsts: Firsts,
    never: Never,
    /// How far blocks are programmed, in pages.
    programmed: u32,
    /// The number of the newest program that counts.
    newest: u64,
    /// Programs of which their successors say that they are not known to be done.
    doubtful: Doubtful,
    /// There are pages that cannot be read; and such of the map, whose successors may stand anywhere.
    is_damaged: bool,
    is_map_damaged: bool,
    /// A page of the map has more changes than RAM has room for.
    is_full: bool,
}

impl Scan {
    /// Another look, with what is known now never to count.
    fn begin(&mut self) {
        self.tails.fill(0);
        self.lasts.fill(0);
        self.firsts.fill(0);
        self.doubtful.fill(0);
        (self.programmed, self.newest) = (0, 0);
        (self.is_damaged, self.is_map_damaged, self.is_full) = (false, false, false);
    }
}

/// Programs that never count.
#[derive(Clone, Copy, Default)]
struct Never {
    /// All from this one on, if it is not 0: they were being programmed when the power failed, and cannot be read.
    from: u64,
    /// Those that these left out: earlier mounts did not find them.
    firsts: Firsts,
    /// These, if they cannot be read.
    doubtful: Doubtful,
}

/// Programs that were the first after a mount: their numbers, and in the low 12 bits how many before them never count.
type Firsts = [u64; RECENT];

/// So many losses of power one after another may each leave the end of a block that seems to be newer than what came before.
const RECENT: usize = 16;

/// Whether a number is among those that these left out.
fn is_left_out(firsts: &Firsts, number: u64) -> bool {
    firsts.iter().any(|first| {
        let (first, left_out) = (first >> 12, first & 0xfff);
        number < first && first - number <= left_out
    })
}

/// Keeps the greatest.
fn keep<T: Copy + Ord>(greatest: &mut [T], one: T) {
    if !greatest.contains(&one)
        && let Some(least) = greatest.iter_mut().min()
        && *least < one
    {
        *least = one;
    }
}

/// Numbers of a few programs.
type Doubtful = [u64; 4];

impl Never {
    fn spares(&self, sequence: u64) -> bool {
        (self.from == 0 || sequence < self.from) && !is_left_out(&self.firsts, sequence)
    }
}

/// What a look at the pages of the map finds.
#[derive(Default)]
struct MapScan {
    /// The number of the newest that is whole.
    newest: u64,
    /// There are some that are not whole.
    is_other: bool,
}

/// What a later page of a block says of those before it.
#[derive(Clone, Copy)]
struct Later {
    erases: u32,
    sequence: u64,
}

/// What was found in a block.
struct Surveyed {
    /// The number of the last program that counts.
    last: u64,
    /// Pages behind that one cannot be read.
    is_cut: bool,
    /// One before it cannot be read.
    is_torn: bool,
}

/// What is done with a page that counts. All of them share the code that looks at a block.
type Seen<'s, F> = &'s mut dyn FnMut(&mut F, u32, &Area) -> Result<(), Error>;

impl<'a, N: Nand, V: Victim, P: Placement> Ftl<'a, N, V, P> {
    /// Mounts the store of a chip, in whatever state a loss of power left it.
    ///
    /// # Errors
    /// [`Error::NotFormatted`], [`Error::Version`], [`Error::Shape`], [`Error::Memory`],
    /// [`Error::MapUnreadable`], [`Error::Device`].
    pub fn mount(nand: N, memory: Memory<'a>, victim: V, placement: P) -> Result<Self, Error> {
        let mut ftl = Self::unmounted(nand, memory, victim, placement)?;
        ftl.remount()?;
        Ok(ftl)
    }

    /// Mounts the store again: what the chip holds may be something else than was known.
    ///
    /// # Errors
    /// Those of [`mount`](Self::mount). After one nothing of the store can be used.
    pub fn remount(&mut self) -> Result<(), Error> {
        let mut scan = Scan::default();
        // A program that was cut off, and the page of the map that it concerns.
        let mut cut_off = (0, NOWHERE);
        let mut may_be_cut = true;
        for _ in 0..MOST_SCANS {
            self.forget();
            scan.begin();
            let looked = self.look(&mut scan);
            self.seen = self.seen.max(self.sequence) + u64::from(scan.programmed) % ALSO_HIDDEN;
            match looked {
                // The newest page of the map could be read a moment ago.
                Err(Error::Unreadable(_)) => {
                    scan.never.from = scan.newest;
                    continue;
                }
                done => done?,
            }
            if self.newest == NOWHERE {
                break;
            }
            let Some(area) = self.known_area(self.newest)? else {
                scan.never.from = scan.newest;
                continue;
            };
            if may_be_cut && !self.is_whole(self.newest)? {
                scan.never.from = scan.newest;
                let Area { content, number, .. } = area;
                let map_page = match content {
                    Content::Data(_) => number / self.entries(),
                    Content::Map => number,
                };
                cut_off = (self.newest, map_page);
                // Nobody was told that the one before it was done.
                may_be_cut = matches!(area.before, None | Some(Before::First(_)));
            } else if scan.never.firsts != scan.firsts
                && scan.lasts.iter().any(|&last| is_left_out(&scan.firsts, last))
            {
                scan.never.firsts = scan.firsts;
            } else if scan.never.doubtful != scan.doubtful {
                scan.never.doubtful = scan.doubtful;
            } else {
                if !may_be_cut && !self.is_whole(self.newest)? {
                    // It was done, and is lost.
                    self.newest = NOWHERE;
                }
                if scan.is_damaged && !self.nand.is_cached() {
                    self.find_lost(&mut scan)?;
                }
                match self.count_valid() {
                    Err(Error::Unreadable(_)) => scan.never.from = scan.newest,
                    done => {
                        done?;
                        break;
                    }
                }
            }
        }
        self.reopen()?;
        let (page, map_page) = cut_off;
        // Where there is room behind it, the next program says that it never counts.
        let is_void = (0..LANES)
            .any(|lane| self.open[lane].block == page / self.pages() && self.has_room(lane));
        if map_page < self.logical_pages.div_ceil(self.entries()) && !is_void {
            self.cut_map = map_page;
        }
        self.is_settled = false;
        Ok(())
    }

    /// Finds what counts but for what is known never to.
    fn look(&mut self, scan: &mut Scan) -> Result<(), Error> {
        self.find_blocks()?;
        self.find_map(scan)?;
        self.find_changes(scan)?;
        // Changes of the map from before now are on the chip at the end of the next sweep.
        self.sweep_began = self.sequence;
        Ok(())
    }

    /// Whether all of a page can be read.
    fn is_whole(&mut self, page: u32) -> Result<bool, Error> {
        if !self.is_readable(page)? {
            return Ok(false);
        }
        let is_blank = self.buffer.iter().all(|&byte| byte == 0xff);
        let Some(area) = self.known_area(page)? else { return Ok(false) };
        let is_map = area.content == Content::Map;
        Ok(if is_map {
            header::is_whole(&self.buffer, &self.shape)
        } else {
            area.ones || !is_blank
        })
    }

    /// What stands beside a page, after what was found behind it in its block.
    #[inline(never)]
    fn found(
        &mut self,
        page: u32,
        is_void: bool,
        later: &mut Option<Later>,
        found: &mut Found,
    ) -> Result<(), Error> {
        let mut bytes = [0; AREA];
        self.counters.area_reads += 1;
        match self.nand.read_area(page, &mut bytes) {
            Ok(()) => *found = Area::decode(&bytes),
            Err(NandError::Device) => return Err(Error::Device),
            Err(_) => {
                *found = Found::Torn;
                return Ok(());
            }
        }
        // A bit of it turned, if what it says but for that must stand before a later page of the block, or is of the block.
        if matches!(found, Found::Torn) && !is_void {
            mend(&mut bytes);
            *found = Area::decode(&bytes);
            if let Found::Page(area) = found {
                let erases = u32::from(self.blocks[(page / self.pages()) as usize].erases);
                let fits =
                    |later: &Later| later.erases == area.erases && area.sequence < later.sequence;
                if !(later.as_ref().is_some_and(fits) && self.is_readable(page)?) {
                    if area.erases != erases {
                        *found = Found::Torn;
                    }
                    return Ok(());
                }
            }
        }
        if let Found::Page(area) = found {
            *later = Some(Later { erases: area.erases, sequence: area.sequence });
            self.seen = self.seen.max(area.sequence);
        }
        Ok(())
    }

    /// Whether a page can be read, into the buffer.
    fn is_readable(&mut self, page: u32) -> Result<bool, Error> {
        match self.nand.read(page, 0, &mut self.buffer) {
            Ok(()) => Ok(true),
            Err(NandError::Device) => Err(Error::Device),
            Err(_) => Ok(false),
        }
    }

    /// Looks at the pages of a block, the last one first, and tells those that count. What it is worth to be opened again is
    /// kept.
    fn survey(
        &mut self,
        block: u32,
        scan: &mut Scan,
        seen: Seen<'_, Self>,
    ) -> Result<Surveyed, Error> {
        let (first, pages) = (block * self.shape.pages, self.shape.pages);
        // Behind the last page that was programmed; behind the last one that counts; the number of that.
        let (mut end, mut good, mut last) = (0, 0, 0);
        let (mut void, mut is_torn) = (0, false);
        let mut later = None;
        for page in (0..pages).rev() {
            let mut found = Found::Blank;
            self.found(first + page, void > 0, &mut later, &mut found)?;
            if matches!(found, Found::Blank) && end == 0 {
                continue;
            }
            end = end.max(page + 1);
            if void > 0 {
                void -= 1;
                continue;
            }
            if let Found::Page(Area { sequence, .. }) = &found {
                if !scan.never.spares(*sequence) {
                    continue;
                }
                if scan.never.doubtful.contains(sequence) && !self.is_whole(first + page)? {
                    found = Found::Torn;
                }
            }
            match &found {
                Found::Page(area) => {
                    if area.before.is_none()
                        && let Some(free) =
                            scan.doubtful.iter_mut().find(|n| **n == 0 || **n == area.sequence - 1)
                    {
                        *free = area.sequence - 1;
                    }
                    if good == 0 {
                        (good, last) = (page + 1, area.sequence);
                        keep(&mut scan.lasts, last);
                    }
                    if let Some(Before::First(left_out)) = area.before {
                        keep(&mut scan.firsts, area.sequence << 12 | u64::from(left_out));
                    }
                    if area.sequence > self.sequence || self.newest == NOWHERE {
                        (self.sequence, scan.newest) = (area.sequence, area.sequence);
                        self.newest = first + page;
                    }
                    void = area.void;
                    seen(self, first + page, area)?;
                }
                Found::Blank => {}
                Found::Torn => is_torn |= good > 0,
            }
        }
        scan.programmed += end;
        let cut = (end - good) as u16;
        if cut > 0 || is_torn {
            scan.is_damaged = true;
            self.blocks[block as usize].set_state(State::Kept);
        }
        let lane = usize::from(self.blocks[block as usize].stream()).min(LANES - 1);
        if !is_torn && cut <= MOST_VOID_FIRST && last > scan.tails[lane] {
            scan.tails[lane] = last;
            self.open[lane] = Open::at(block, end as u16, cut);
        }
        if good == 0 && end > 0 {
            self.blocks[block as usize].set_waste();
        }
        Ok(Surveyed { last, is_cut: cut > 0, is_torn })
    }

    /// Opens the blocks again that were open. What nothing leads to is free.
    fn reopen(&mut self) -> Result<(), Error> {
        for lane in 0..LANES {
            let Open { block, .. } = self.open[lane];
            let Some(home) = self.blocks.get(block as usize) else { continue };
            let is_torn = home.state() == State::Kept && self.open[lane].cut == 0;
            if home.valid() == 0 || is_torn {
                self.open[lane] = Open::NONE;
                continue;
            }
            // The page behind the last one may have been touched.
            if !self.nand.is_cached() {
                self.leave_out(lane);
                while self.has_room(lane) && !self.is_blank(lane)? {
                    self.leave_out(lane);
                }
            }
            if self.has_room(lane) {
                self.blocks[block as usize].set_state(State::Open);
            }
        }
        for block in self.blocks.iter_mut() {
            if block.state() == State::Closed && block.valid() == 0 {
                block.set_state(State::Stale);
                self.free += 1;
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, lane: usize) {
        let open = &mut self.open[lane];
        open.next += 1;
        // Behind a page that counts, a blank one need not be told.
        open.cut += u16::from(open.cut > 0);
    }

    /// Whether the next page of an open block was not programmed, not even in part.
    fn is_blank(&mut self, lane: usize) -> Result<bool, Error> {
        let Open { block, next, .. } = self.open[lane];
        let page = block * self.shape.pages + u32::from(next);
        if self.is_readable(page)? {
            return Ok(self.buffer.iter().all(|&byte| byte == 0xff));
        }
        // What is there must never count.
        let cut = &mut self.open[lane].cut;
        *cut = (*cut).max(1);
        Ok(false)
    }

    /// Whether a block holds pages that were written.
    fn is_written(&self, block: u32) -> bool {
        matches!(self.blocks[block as usize].state(), State::Closed | State::Kept)
    }

    /// What each block is, by its first page that can be read.
    fn find_blocks(&mut self) -> Result<(), Error> {
        let (mut known, mut erases) = (0_u32, 0_u32);
        for block in 0..self.shape.blocks {
            if self.nand.is_bad(block).map_err(device)? {
                continue;
            }
            match self.first_area(block)? {
                (None, false) => {
                    self.blocks[block as usize].set_state(State::Stale);
                    self.free += 1;
                }
                (None, true) => {
                    self.blocks[block as usize].set_state(State::Kept);
                    self.blocks[block as usize].set_waste();
                }
                (Some(area), _) if area.content == Content::Map && area.number == BEGUN => {
                    return Err(Error::NotFormatted);
                }
                (Some(area), _) => {
                    let stream = match area.content {
                        Content::Data(stream) => stream,
                        Content::Map => MAP_STREAM as u8,
                    };
                    let home = &mut self.blocks[block as usize];
                    home.set_state(State::Closed);
                    home.set_stream(stream);
                    // Until they are counted, as many as there can be.
                    home.set_valid(self.shape.pages);
                    home.erases = area.erases.min(0xffff) as u16;
                    known += 1;
                    // Too little, where more than 65,536 blocks were erased as often as can be counted.
                    erases = erases.saturating_add(home.erases.into());
                    let step = self.step();
                    self.blocks[block as usize].opened = (area.sequence >> step) as u16;
                }
            }
        }
        // Nothing on the chip says how often a free block was erased.
        let mean = (erases / known.max(1)) as u16;
        for block in self.blocks.iter_mut().filter(|block| block.state() == State::Stale) {
            block.erases = mean;
        }
        Ok(())
    }

    /// The first area of a block that can be read, and whether one before it cannot.
    fn first_area(&mut self, block: u32) -> Result<(Option<Area>, bool), Error> {
        let mut torn = false;
        for page in 0..self.shape.pages {
            match self.area(block * self.shape.pages + page)? {
                Found::Page(area) => return Ok((Some(area), torn)),
                // What was programmed after a page that is blank now was not synced, and nobody relies on it.
                Found::Blank if page == 0 => break,
                Found::Blank => {}
                Found::Torn => torn = true,
            }
        }
        Ok((None, torn))
    }

    /// The newest copy of each page of the map.
    fn find_map(&mut self, scan: &mut Scan) -> Result<(), Error> {
        let (mut is_damaged, mut end, mut oldest_cut) = (false, 0, u64::MAX);
        let mut map = MapScan::default();
        for block in 0..self.shape.blocks {
            if !self.is_written(block) || !self.is_map_block(block) {
                continue;
            }
            let surveyed = self.survey(block, scan, &mut |this, page, area| {
                if area.content == Content::Map {
                    this.consider_map_page(page, area, &mut map)?;
                }
                Ok(())
            })?;
            is_damaged |= surveyed.is_torn;
            end = end.max(surveyed.last);
            if surveyed.is_cut {
                oldest_cut = oldest_cut.min(surveyed.last);
            }
        }
        if self.logical_pages == 0 {
            return Err(if map.is_other {
                Error::Shape(Misfit::OtherChip)
            } else {
                Error::NotFormatted
            });
        }
        // A loss of power cuts off what is written last. Any other page that cannot be read may have been the only one
        // with changes from behind the horizon: then all areas are looked at.
        scan.is_map_damaged = is_damaged || oldest_cut < end;
        if scan.is_map_damaged && self.cache.capacity() >= self.map_entries as usize {
            self.horizon = 0;
        }
        Ok(())
    }

    /// Of two copies of a page of the map the newer counts, and of all of them the newest header.
    fn consider_map_page(
        &mut self,
        page: u32,
        area: &Area,
        scan: &mut MapScan,
    ) -> Result<(), Error> {
        let Area { number, sequence, .. } = *area;
        if self.nand.is_cached() && !self.is_whole(page)? {
            let block = (page / self.pages()) as usize;
            self.blocks[block].set_state(State::Kept);
            return Ok(());
        }
        if self.logical_pages != 0 {
            if number >= self.logical_pages.div_ceil(self.entries()) {
                return Ok(());
            }
            let other = self.directory[number as usize];
            if other == NONE || self.sequence_of(other)? < sequence {
                self.directory[number as usize] = page;
            }
            if sequence < scan.newest {
                return Ok(());
            }
        }
        if !self.is_readable(page)? {
            return Ok(());
        }
        let Some(bytes) = self.buffer.last_chunk() else { return Ok(()) };
        let header = match Header::decode(bytes) {
            Ok(header) => header,
            Err(Error::NotFormatted) => return Ok(()),
            Err(e) => return Err(e),
        };
        if !header::is_whole(&self.buffer, &self.shape) {
            scan.is_other = true;
            return Ok(());
        }
        if self.logical_pages == 0 {
            self.set_size(header.logical_pages)?;
            self.spare_blocks = header.spare_blocks;
            self.consider_map_page(page, area, scan)?;
        }
        scan.newest = sequence;
        self.horizon = header.horizon;
        Ok(())
    }

    /// The changes of the map that only the areas of data tell.
    fn find_changes(&mut self, scan: &mut Scan) -> Result<(), Error> {
        let (mut from, horizon, mut full) = (0, self.horizon, false);
        // More changes than there is room for are found where the chip lost pages of the map that were not synced:
        // they are found part by part, and written between.
        while from < self.logical_pages {
            let mut to = self.logical_pages;
            for block in 0..self.shape.blocks {
                if self.is_written(block) && self.last_sequence(block)? > horizon {
                    self.survey(block, scan, &mut |this, page, area| {
                        let is_full = this.consider_change(page, area, horizon, from, &mut to)?;
                        full |= is_full;
                        Ok(())
                    })?;
                    scan.is_full |= core::mem::take(&mut full);
                }
            }
            if to < self.logical_pages || scan.is_full {
                self.leave_out_numbers();
                // Not by the sweep, whose end would say that no change is missing any more.
                if core::mem::take(&mut scan.is_full) {
                    self.find_changes_of(from / self.entries(), horizon, scan)?;
                }
                while let Some(lpn) = self.cache.first_from(0) {
                    self.write_map_page(lpn / self.entries())?;
                }
            }
            from = to;
        }
        Ok(())
    }

    /// The number of the last program of a block; all of it if the last page cannot be read.
    fn last_sequence(&mut self, block: u32) -> Result<u64, Error> {
        match self.area((block + 1) * self.shape.pages - 1)? {
            Found::Page(area) => Ok(area.sequence),
            Found::Blank | Found::Torn => Ok(u64::MAX),
        }
    }

    /// Writes a page of the map of which more entries changed than RAM has room for: they are found in the buffer.
    fn find_changes_of(&mut self, page: u32, horizon: u64, scan: &mut Scan) -> Result<(), Error> {
        let first = page * self.map_entries;
        self.cache.remove(first, first + self.map_entries);
        self.gather_map_page(page)?;
        let at = self.directory[page as usize];
        let since = if at == NONE { horizon } else { self.sequence_of(at)?.max(horizon) };
        for block in 0..self.shape.blocks {
            if !self.is_written(block) || self.last_sequence(block)? <= since {
                continue;
            }
            self.survey(block, scan, &mut |this, at, area| {
                let index = area.number.wrapping_sub(first);
                let is_data = matches!(area.content, Content::Data(_));
                if !is_data || index >= this.map_entries || area.sequence <= since {
                    return Ok(());
                }
                // Where the map led, another logical page may be by now.
                let known = this.entry(index);
                let found = if known < LOST { this.area(known)? } else { Found::Blank };
                let is_newer = matches!(found, Found::Page(other)
                    if other.number == area.number && other.sequence > area.sequence);
                if !is_newer {
                    this.set_entry(index, at);
                }
                Ok(())
            })?;
        }
        self.write_gathered(page)
    }

    /// A change of the map, if nothing newer is known of that logical page. True if there is no room for it.
    fn consider_change(
        &mut self,
        page: u32,
        area: &Area,
        horizon: u64,
        from: u32,
        to: &mut u32,
    ) -> Result<bool, Error> {
        let lpn = area.number;
        let is_data = matches!(area.content, Content::Data(_));
        let concerns = is_data && area.sequence > horizon && (from..*to).contains(&lpn);
        if !concerns || !self.is_newer(area)? {
            return Ok(false);
        }
        if self.nand.is_cached() && !self.is_whole(page)? {
            let block = (page / self.pages()) as usize;
            self.blocks[block].set_state(State::Kept);
            return Ok(false);
        }
        if self.cache.is_full() && self.cache.get(lpn).is_none() {
            *to = self.cache.middle() / self.entries() * self.map_entries;
            *to = (*to).max(from + self.map_entries);
            self.cache.remove(*to, u32::MAX);
            if lpn >= *to {
                return Ok(false);
            }
            if self.cache.is_full() {
                return Ok(true);
            }
        }
        self.cache.set(lpn, page);
        Ok(false)
    }

    /// Finds pages of which only the areas of their successors still tell: reading them is an error, whatever older copies
    /// there are.
    fn find_lost(&mut self, scan: &mut Scan) -> Result<(), Error> {
        let horizon = self.horizon;
        for block in 0..self.shape.blocks {
            if !self.is_written(block)
                || !scan.is_map_damaged && self.last_sequence(block)? <= horizon
            {
                continue;
            }
            self.survey(block, scan, &mut |this, _, area| {
                let sequence = area.sequence.saturating_sub(1);
                match area.before {
                    Some(Before::Data(lpn)) if sequence > horizon && lpn < this.logical_pages => {
                        this.consider_lost(lpn, sequence)
                    }
                    Some(Before::Map(page)) if page >= WITH_TRIMS || horizon > 0 => {
                        this.consider_lost_map_page(page % WITH_TRIMS, sequence)
                    }
                    _ => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// A logical page was written by that program: if nothing as new is known, it is lost.
    fn consider_lost(&mut self, lpn: u32, sequence: u64) -> Result<(), Error> {
        let map_page = self.directory[(lpn / self.entries()) as usize];
        let known = match self.cache.get(lpn) {
            Some(LOST..) => return Ok(()),
            Some(at) => self.sequence_of(at)?,
            None => 0,
        };
        if known >= sequence
            || map_page == LOST
            || map_page != NONE && self.sequence_of(map_page)? > sequence
        {
            return Ok(());
        }
        if self.cache.is_full() && self.cache.get(lpn).is_none() {
            self.leave_out_numbers();
            if let Some(first) = self.cache.first_from(0) {
                self.write_map_page(first / self.entries())?;
            }
        }
        self.cache.set(lpn, LOST);
        Ok(())
    }

    /// A page of the map was written by that program: if nothing as new is known, all is lost that did not change later. If it
    /// told no trims, what it told is found in the areas.
    fn consider_lost_map_page(&mut self, page: u32, sequence: u64) -> Result<(), Error> {
        let Some(&at) = self.directory.get(page as usize) else { return Ok(()) };
        if page >= self.logical_pages.div_ceil(self.entries())
            || at == LOST
            || at != NONE && self.sequence_of(at)? >= sequence
        {
            return Ok(());
        }
        self.directory[page as usize] = LOST;
        let (mut lpn, end) = (page * self.map_entries, (page + 1) * self.map_entries);
        while let Some(changed) = self.cache.first_from(lpn).filter(|&lpn| lpn < end) {
            if let Some(at @ ..LOST) = self.cache.get(changed)
                && self.sequence_of(at)? < sequence
            {
                self.cache.set(changed, LOST);
            }
            lpn = changed + 1;
        }
        Ok(())
    }

    /// Whether neither the map nor a change of it knows a newer copy than this one.
    fn is_newer(&mut self, area: &Area) -> Result<bool, Error> {
        let known = self.directory[(area.number / self.entries()) as usize];
        if known != NONE && self.sequence_of(known)? > area.sequence {
            return Ok(false);
        }
        match self.cache.get(area.number) {
            Some(other) if other < LOST => Ok(self.sequence_of(other)? < area.sequence),
            _ => Ok(true),
        }
    }

    /// How many pages of each block are valid.
    fn count_valid(&mut self) -> Result<(), Error> {
        for block in self.blocks.iter_mut() {
            block.set_valid(0);
        }
        for page in 0..self.logical_pages.div_ceil(self.entries()) {
            self.gather_map_page(page)?;
            let first = page * self.map_entries;
            for index in 0..self.map_entries.min(self.logical_pages - first) {
                self.count(self.entry(index));
            }
            self.count(self.directory[page as usize]);
        }
        Ok(())
    }

    /// A page is valid.
    fn count(&mut self, at: u32) {
        let block = (at / self.pages()) as usize;
        let Some(block) = self.blocks.get_mut(block) else { return };
        if block.is_free() {
            // Its areas cannot be read: its pages are lost, but nothing is to be written over them.
            block.set_state(State::Kept);
            self.free -= 1;
        }
        // Entries that lead to pages of which the chip lost the successors make it more than a block has.
        block.set_valid((block.valid() + 1).min(MOST_PAGES));
    }
}
