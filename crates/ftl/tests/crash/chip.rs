//! A chip that records every operation of a history, and whose states share common parts.
//!
//! The fault model is the contract of [`Flash`] to the letter. Everything up to the last sync survives. Of
//! later operations any part survives, but an erase, and any later operation on its block, only together
//! with everything before the erase. A program that was cut off or not yet synced leaves its page blank,
//! torn, or torn with a readable area. A torn erase leaves each page as it was, blank, or torn.

use std::rc::Rc;

use thermocline_flash::{
    BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, SimulatedTime,
};

use super::common::Draws;

/// The content of a page. Data pages differ in their first eight bytes only.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    Content(u64),
    Bytes(Rc<[u8]>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Page {
    Blank,
    Holds(Oob, Payload),
    /// Only the area can be read.
    Half(Oob),
    Torn,
}

#[derive(Clone, Debug)]
struct Block {
    pages: Vec<Page>,
    erases: u32,
    bad: bool,
}

/// All that is on a chip. A clone shares its blocks until they are changed.
#[derive(Clone, Debug)]
pub struct State(Vec<Rc<Block>>);

/// An operation of a chip.
#[derive(Clone, Debug)]
pub enum Op {
    Program(Ppn, Page),
    Erase(BlockId),
    Bad(BlockId),
    Sync,
    /// A sync that leaves the erases of blocks in which nothing was programmed since.
    SyncPrograms,
}

impl State {
    pub fn blank(geometry: &Geometry, bad: &[BlockId]) -> Self {
        let pages = vec![Page::Blank; geometry.pages_per_block as usize];
        let block = |b| Block { pages: pages.clone(), erases: 0, bad: bad.contains(&BlockId(b)) };
        Self((0..geometry.blocks()).map(|b| Rc::new(block(b))).collect())
    }

    fn block(&mut self, block: BlockId) -> &mut Block {
        Rc::make_mut(&mut self.0[block.index()])
    }

    pub fn apply(&mut self, geometry: &Geometry, op: &Op) {
        match op {
            Op::Program(at, page) => {
                let number = geometry.page_of(*at) as usize;
                self.block(geometry.block_of(*at)).pages[number] = page.clone();
            }
            Op::Erase(block) => {
                let block = self.block(*block);
                block.pages.fill(Page::Blank);
                block.erases += 1;
            }
            Op::Bad(block) => self.block(*block).bad = true,
            Op::Sync | Op::SyncPrograms => {}
        }
    }

    /// The program is lost: the page is blank, or torn in one of two ways.
    fn lose(&mut self, geometry: &Geometry, at: Ppn, page: &Page, how: u32) {
        let left = match (how, page) {
            (0, _) => Page::Blank,
            (1, Page::Holds(oob, _)) => Page::Half(*oob),
            _ => Page::Torn,
        };
        self.apply(geometry, &Op::Program(at, left));
    }

    /// An erase that was cut off.
    fn tear(&mut self, block: BlockId, draws: &mut Draws) {
        for page in &mut self.block(block).pages {
            match draws.below(3) {
                0 => *page = Page::Blank,
                1 if *page != Page::Blank => *page = Page::Torn,
                _ => {}
            }
        }
    }
}

/// How power failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Everything done survives.
    InOrder,
    /// Nothing that was not synced survives.
    OnlySynced,
    /// The last operation is torn.
    LastTorn,
    /// One operation alone is lost, and what must be lost with it.
    OneLost,
    /// Any part survives.
    Subset,
}

pub const CUTS: [Cut; 5] =
    [Cut::InOrder, Cut::OnlySynced, Cut::LastTorn, Cut::OneLost, Cut::Subset];

/// The synced state, and the operations since, of which any part may survive.
#[derive(Clone, Debug)]
pub struct Synced {
    pub state: State,
    pub since: Vec<Op>,
}

impl Synced {
    /// Another operation was done.
    pub fn then(&mut self, geometry: &Geometry, op: &Op) {
        let left = |since: &[Op], i: usize| match since[i] {
            Op::Erase(block) => !since[i..]
                .iter()
                .any(|op| matches!(op, Op::Program(at, _) if geometry.block_of(*at) == block)),
            _ => false,
        };
        let since = std::mem::take(&mut self.since);
        match op {
            Op::Sync => since.iter().for_each(|op| self.state.apply(geometry, op)),
            Op::SyncPrograms => {
                for (i, op) in since.iter().enumerate() {
                    if left(&since, i) {
                        self.since.push(op.clone());
                    } else {
                        self.state.apply(geometry, op);
                    }
                }
            }
            op => {
                self.since = since;
                self.since.push(op.clone());
            }
        }
    }
}

/// A chip after a loss of power.
pub fn survivors(synced: &Synced, geometry: &Geometry, cut: Cut, draws: &mut Draws) -> State {
    let Synced { state, since: ops } = synced;
    let mut state = state.clone();
    // Bad marks last at once: a real chip writes them where nothing else is.
    let is_erase = |op: &Op| matches!(op, Op::Erase(_));
    let erases: Vec<usize> = (0..ops.len()).filter(|&i| is_erase(&ops[i])).collect();
    let lost_alone = match cut {
        Cut::OneLost if !ops.is_empty() => Some(draws.below(ops.len() as u32) as usize),
        _ => None,
    };
    // Everything before this operation survives; later operations may not, and no later erase does.
    let sure = match cut {
        Cut::InOrder => ops.len(),
        Cut::OnlySynced => 0,
        Cut::LastTorn => ops.len().saturating_sub(1),
        // The first erase after the lost operation is lost as well.
        Cut::OneLost => lost_alone.unwrap_or(0),
        Cut::Subset => match draws.below(erases.len() as u32 + 1) as usize {
            0 => 0,
            // The last erase that survives, or one that is torn.
            n => erases[n - 1] + draws.below(2) as usize,
        },
    };
    for op in &ops[..sure] {
        state.apply(geometry, op);
    }
    let keeps = 1 + draws.below(4);
    // Lost operations may leave no trace.
    let tears = cut == Cut::LastTorn || draws.one_in(2);
    let mut lost_erases: Vec<BlockId> = Vec::new();
    for (i, op) in ops.iter().enumerate().skip(sure) {
        match op {
            Op::Program(at, page) => {
                if lost_erases.contains(&geometry.block_of(*at)) {
                    continue;
                }
                let kept = match cut {
                    Cut::OneLost => lost_alone != Some(i),
                    Cut::Subset => draws.below(4) < keeps,
                    _ => false,
                };
                if kept {
                    state.apply(geometry, op);
                } else if cut != Cut::OnlySynced {
                    let how = if tears { draws.below(3) } else { 0 };
                    state.lose(geometry, *at, page, how);
                }
            }
            Op::Erase(block) => {
                // Where all before it survives it may be half done.
                let all_before = i == sure || (cut == Cut::LastTorn);
                if all_before && cut != Cut::OnlySynced && lost_erases.is_empty() && draws.one_in(2)
                {
                    state.tear(*block, draws);
                }
                lost_erases.push(*block);
            }
            Op::Bad(_) => state.apply(geometry, op),
            Op::Sync | Op::SyncPrograms => {}
        }
    }
    state
}

/// The chip itself.
#[derive(Clone, Debug)]
pub struct Slate {
    geometry: Geometry,
    in_order: bool,
    pub state: State,
    /// Operations since the list was last taken.
    pub ops: Vec<Op>,
    pub failing: Option<Failing>,
    /// The next program is done, and the system below says that it was not.
    pub lies: bool,
    /// The system below has no room: nothing is programmed.
    pub full: bool,
    /// A page that power cut off may read well and fade later.
    pub may_fade: bool,
    /// A page that fades after a number of further programs and erases.
    pub fading: Option<(Ppn, u32)>,
}

/// One program or erase in `one_in` fails, up to a limit.
#[derive(Clone, Debug)]
pub struct Failing {
    pub draws: Draws,
    pub one_in: u32,
    pub of_data: u32,
    pub of_log: u32,
}

impl Slate {
    pub fn new(geometry: Geometry, in_order: bool, state: State) -> Self {
        let (ops, failing, fading) = (Vec::new(), None, None);
        let (lies, full, may_fade) = (false, false, false);
        Self { geometry, in_order, state, ops, failing, lies, full, may_fade, fading }
    }

    fn page(&self, at: Ppn) -> Result<&Page, FlashError> {
        let block = self.state.0.get(self.geometry.block_of(at).index());
        let page = block.and_then(|b| b.pages.get(self.geometry.page_of(at) as usize));
        page.ok_or(FlashError::OutOfRange)
    }

    fn act(&mut self, op: Op) {
        if let Op::Erase(block) = op {
            self.fading = self.fading.filter(|(at, _)| self.geometry.block_of(*at) != block);
        }
        self.state.apply(&self.geometry, &op);
        self.ops.push(op);
        if let Some((at, left)) = self.fading.take() {
            match left.checked_sub(1) {
                Some(left) => self.fading = Some((at, left)),
                None => self.act(Op::Program(at, Page::Torn)),
            }
        }
    }

    fn fails(&mut self, block: BlockId) -> Option<u32> {
        let failing = self.failing.as_mut()?;
        let is_data = block.0 < self.geometry.data_blocks();
        let left = if is_data { &mut failing.of_data } else { &mut failing.of_log };
        if *left == 0 || !failing.draws.one_in(failing.one_in) {
            return None;
        }
        *left -= 1;
        Some(failing.draws.below(3))
    }

    fn put(&mut self, at: Ppn, page: Page) -> Result<(), FlashError> {
        let (block, number) = (self.geometry.block_of(at), self.geometry.page_of(at));
        let pages = &self.state.0[block.index()].pages;
        if self.page(at)? != &Page::Blank {
            return Err(FlashError::NotErased(at));
        }
        if self.state.0[block.index()].bad {
            return Err(FlashError::BadBlock(block));
        }
        let next = pages.iter().rposition(|page| *page != Page::Blank).map_or(0, |last| last + 1);
        if self.in_order && number as usize != next.max(self.geometry.header_pages as usize) {
            return Err(FlashError::OutOfOrder(at));
        }
        if self.full {
            return Err(FlashError::Medium(28));
        }
        if let Some(how) = self.fails(block) {
            let left = match (how, &page) {
                (0, _) => page,
                (1, Page::Holds(oob, _)) => Page::Half(*oob),
                _ => Page::Torn,
            };
            self.act(Op::Program(at, left));
            return Err(FlashError::ProgramFailed(at));
        }
        self.act(Op::Program(at, page));
        if std::mem::take(&mut self.lies) { Err(FlashError::Medium(5)) } else { Ok(()) }
    }
}

impl Flash for Slate {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn in_order(&self) -> bool {
        self.in_order
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.state.0[block.index()].bad
    }

    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        match self.page(from)? {
            Page::Half(_) | Page::Torn => return Err(FlashError::Unreadable(from)),
            _ if into.is_empty() => {}
            Page::Blank => into.fill(0xff),
            Page::Holds(_, Payload::Content(content)) => {
                into.fill(0);
                into[..8].copy_from_slice(&content.to_le_bytes());
            }
            Page::Holds(_, Payload::Bytes(bytes)) => into.copy_from_slice(bytes),
        }
        Ok(())
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        match self.page(from)? {
            Page::Blank => Ok(None),
            Page::Holds(oob, _) | Page::Half(oob) => Ok(Some(*oob)),
            Page::Torn => Err(FlashError::Unreadable(from)),
        }
    }

    fn may_fade(&self) -> bool {
        self.may_fade
    }

    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        let payload = match data.first_chunk::<8>() {
            Some(content) if oob.lpn != Lpn::NONE => Payload::Content(u64::from_le_bytes(*content)),
            _ => Payload::Bytes(data.into()),
        };
        self.put(to, Page::Holds(oob, payload))
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        let Page::Holds(_, payload) = self.page(from)?.clone() else {
            return Err(FlashError::Unreadable(from));
        };
        self.put(to, Page::Holds(oob, payload))
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        if self.is_bad(block) {
            return Err(FlashError::BadBlock(block));
        }
        if self.fails(block).is_some() {
            return Err(FlashError::EraseFailed(block));
        }
        self.act(Op::Erase(block));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FlashError> {
        self.act(Op::Sync);
        Ok(())
    }

    fn sync_programs(&mut self) -> Result<(), FlashError> {
        self.act(Op::SyncPrograms);
        Ok(())
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.act(Op::Bad(block));
        Ok(())
    }
}

impl Condition for Slate {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.state.0[block.index()].erases
    }

    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        match self.page(from)? {
            Page::Blank => Err(FlashError::Unreadable(from)),
            _ => self.read(from, into),
        }
    }
}

impl SimulatedTime for Slate {}
