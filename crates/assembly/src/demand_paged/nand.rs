//! Adapts a chip of the server to the microcontrollers' layer.
//!
//! * The area has the same content, in the fields of the chip's own area.
//! * The map on the chip never points to a page that is not durable: a sync precedes a map page if the chip has
//!   unsynced programs. On a chip without a write cache that costs nothing.
//! * A mount writes. Its writes stay in memory ([`Draft`]) until the host writes, so inspecting a chip does not
//!   change it.

use std::collections::{BTreeMap, BTreeSet};

use thermocline_embedded::{AREA, Area, Before, Content, Found, Geometry, Nand, NandError};
use thermocline_flash::{BlockId, Flash, FlashError, Lpn, Oob, Ppn, Retrying};
use thermocline_ftl::index::MAP_STREAM;

use super::lasting::{self, Lasting};

/// Changes of a chip, kept in memory only.
#[derive(Debug, Default)]
struct Draft {
    /// Pages that were programmed.
    pages: BTreeMap<u32, (Payload, [u8; AREA])>,
    erased: BTreeSet<u32>,
    bad: BTreeSet<u32>,
}

#[derive(Clone, Debug)]
enum Payload {
    Bytes(Box<[u8]>),
    /// The content of that page of the chip.
    Page(u32),
}

/// A chip with data.
#[derive(Debug)]
pub(super) struct OnFlash<C> {
    pub(super) chip: Retrying<C>,
    shape: Geometry,
    draft: Option<Draft>,
    /// The time of the layer, which stands beside the pages that are programmed.
    pub(super) now: u64,
    /// The latest time that was found beside a page.
    pub(super) newest_time: u64,
    /// Which programs last.
    pub(super) lasting: Lasting,
    /// Pages that could not be read.
    pub(super) unreadable: BTreeSet<u32>,
    /// Why the chip refused the last operation that it refused.
    pub(super) refused: Option<FlashError>,
    /// Something was programmed since the last sync.
    is_unsynced: bool,
    /// A block was erased since then. Operations before the mount may be unsynced as well.
    erases_are_unsynced: bool,
    /// A partly read page: more reads of it follow.
    page: Box<[u8]>,
    read: Option<u32>,
}

impl<C: Flash> OnFlash<C> {
    pub(super) fn new(chip: C) -> Self {
        let chip = Retrying::new(chip);
        let shape = shape(chip.geometry());
        Self {
            chip,
            shape,
            draft: None,
            now: 0,
            newest_time: 0,
            lasting: Lasting::default(),
            unreadable: BTreeSet::new(),
            refused: None,
            is_unsynced: true,
            erases_are_unsynced: true,
            page: vec![0; shape.page_size as usize].into(),
            read: None,
        }
    }

    /// From now on nothing reaches the chip.
    pub(super) fn begin_draft(&mut self) {
        self.draft = Some(Draft::default());
    }

    /// From now on everything does. True if something did not.
    pub(super) fn end_draft(&mut self) -> bool {
        self.read = None;
        self.lasting.begin();
        let draft = self.draft.take().unwrap_or_default();
        !(draft.pages.is_empty() && draft.erased.is_empty() && draft.bad.is_empty())
    }

    /// Whether nothing reaches the chip.
    pub(super) const fn is_draft(&self) -> bool {
        self.draft.is_some()
    }

    /// The page of the chip with that number.
    pub(super) fn ppn(&self, page: u32) -> Ppn {
        let geometry = self.chip.geometry();
        let (block, page) = (page / self.shape.pages, page % self.shape.pages);
        geometry.ppn(BlockId(block), geometry.header_pages + page)
    }

    fn failed(&mut self, error: FlashError) -> NandError {
        self.refused = Some(error);
        match error {
            FlashError::Unreadable(_) => NandError::Unreadable,
            FlashError::WornOut(_)
            | FlashError::ProgramFailed(_)
            | FlashError::EraseFailed(_)
            | FlashError::BadBlock(_) => NandError::Failed,
            _ => NandError::Device,
        }
    }

    fn of<T>(&mut self, done: Result<T, FlashError>) -> Result<T, NandError> {
        done.map_err(|e| self.failed(e))
    }

    /// Where the content of a page is, by the draft: in memory, in a page of the chip, or nowhere as it is blank.
    fn content(&self, page: u32) -> Option<Payload> {
        let Some(draft) = &self.draft else { return Some(Payload::Page(page)) };
        match draft.pages.get(&page) {
            Some((payload, _)) => Some(payload.clone()),
            None if draft.erased.contains(&(page / self.shape.pages)) => None,
            None => Some(Payload::Page(page)),
        }
    }

    fn is_blank(&mut self, block: u32) -> Result<bool, FlashError> {
        for page in block * self.shape.pages..(block + 1) * self.shape.pages {
            match self.chip.read_oob(self.ppn(page)) {
                Ok(None) => {}
                Ok(Some(_)) | Err(FlashError::Unreadable(_)) => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// The area of a page. The map must not point to a page that a loss of power takes back: all earlier programs are
    /// synced before a map page.
    fn oob(&mut self, area: &[u8; AREA]) -> Result<Oob, NandError> {
        let mut oob = oob_of(area, 0).expect("the layer programs areas that it can read");
        let is_map = oob.stream == MAP_STREAM;
        if is_map && self.is_unsynced {
            let done = self.chip.sync_programs();
            self.of(done)?;
            self.is_unsynced = false;
            self.lasting.all_synced();
        }
        self.is_unsynced |= !is_map;
        oob.time = self.lasting.program(oob.sequence & SEQUENCE, self.now);
        Ok(oob)
    }

    /// Programs a page, whatever way. The layer left pages before it out whose programs the system below refused: a chip
    /// that takes pages only in order gets some there that say nothing.
    fn put(
        &mut self,
        to: u32,
        put: impl Fn(&mut Retrying<C>, Ppn) -> Result<(), FlashError>,
    ) -> Result<(), NandError> {
        let at = self.ppn(to);
        let mut done = put(&mut self.chip, at);
        if let Err(FlashError::OutOfOrder(_)) = done {
            done = self.fill_before(to).and_then(|()| put(&mut self.chip, at));
        }
        self.programmed(to, done)
    }

    #[cold]
    fn fill_before(&mut self, to: u32) -> Result<(), FlashError> {
        let nothing = Oob { lpn: Lpn(0), stream: NO_STREAM, sequence: 0, time: 0, note: 0 };
        let zeros = vec![0; self.page.len()];
        for page in to - to % self.shape.pages..to {
            let at = self.ppn(page);
            if self.chip.read_oob(at) == Ok(None) {
                self.chip.program(at, nothing, &zeros)?;
            }
        }
        Ok(())
    }

    /// Converts the result of a program.
    fn programmed(&mut self, to: u32, done: Result<(), FlashError>) -> Result<(), NandError> {
        if self.read == Some(to) {
            self.read = None;
        }
        let done = self.of(done);
        // Where it may be there in part, nothing that is said later holds for it.
        if !matches!(done, Ok(()) | Err(NandError::Unreadable)) {
            self.lasting.begin();
        }
        done
    }
}

/// The shape of a chip as the layer sees it.
pub(super) fn shape(geometry: &thermocline_flash::Geometry) -> Geometry {
    Geometry {
        blocks: geometry.data_blocks(),
        pages: geometry.data_pages_per_block(),
        page_size: geometry.page_size,
    }
}

// The sequence number of the chip's area has spare bits for the layer's own fields, and so has the note, whose erase
// counts end at 4095. The logical page is unchanged: chips check it when they copy.
const ERASES: u16 = 0xfff;
const ONES: u16 = 1 << 12;
const BEFORE_MAP: u16 = 1 << 13;
const VOID_AT: u32 = 14;
const SEQUENCE: u64 = (1 << BEFORE_AT) - 1;
const BEFORE_AT: u32 = 40;
/// Beside a page that says nothing.
const NO_STREAM: u8 = 127;

/// Converts the layer's bytes to the chip's area; `None` if they have no content.
pub(super) fn oob_of(area: &[u8; AREA], time: u64) -> Option<Oob> {
    let Found::Page(area) = Area::decode(area) else { return None };
    let stream = match area.content {
        Content::Data(stream) => stream,
        Content::Map => MAP_STREAM,
        // A dump is served without them.
        Content::Snapshot => return None,
    };
    let (before, is_map) = Before::pack(area.before, area.void);
    let map = if is_map { BEFORE_MAP } else { 0 };
    let ones = if area.ones { ONES } else { 0 };
    let note =
        (area.erases.min(ERASES.into()) as u16) | u16::from(area.void & 3) << VOID_AT | ones | map;
    let sequence = area.sequence | u64::from(before) << BEFORE_AT;
    Some(Oob { lpn: Lpn(area.number), stream, sequence, time, note })
}

/// Converts an area to the layer's bytes; bytes without content if another layer wrote it.
pub(super) fn bytes(oob: Oob) -> [u8; AREA] {
    let content = match oob.stream {
        MAP_STREAM => Content::Map,
        stream if usize::from(stream) <= thermocline_embedded::MAX_STREAMS => Content::Data(stream),
        _ => return [0; AREA],
    };
    let word = oob.note;
    let (before, void) = Before::unpack(
        (oob.sequence >> BEFORE_AT) as u32,
        word & BEFORE_MAP != 0,
        (word >> VOID_AT) as u8 & 3,
    );
    Area {
        content,
        erases: (word & ERASES).into(),
        number: oob.lpn.0,
        after: None,
        sequence: oob.sequence & SEQUENCE,
        before,
        void,
        ones: word & ONES != 0,
    }
    .encode()
}

/// The area of a page of this layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BesidePage {
    /// The number of its program.
    pub number: u64,
    /// When that was done, in nanoseconds.
    pub time_ns: u64,
    /// The programs that it records as durable, if any.
    pub lasting: Option<(u64, u64)>,
}

impl BesidePage {
    /// Decodes the chip's area.
    #[must_use]
    pub fn of(oob: &Oob) -> Self {
        let number = oob.sequence & SEQUENCE;
        let lasting = lasting::told(number, oob.time);
        Self { number, time_ns: lasting::time_ns(oob.time), lasting }
    }
}

impl<C: Flash> Nand for OnFlash<C> {
    fn geometry(&self) -> Geometry {
        self.shape
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let from = match self.content(page) {
            None => {
                into.fill(0xff);
                return Ok(());
            }
            Some(Payload::Bytes(bytes)) => {
                into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
                return Ok(());
            }
            Some(Payload::Page(from)) => from,
        };
        let at = self.ppn(from);
        let unreadable = |this: &mut Self, e: FlashError| {
            if e == FlashError::Unreadable(at) {
                this.unreadable.insert(from);
                if this.chip.is_refused(at)
                    && let Ok(Some(oob)) = this.chip.read_oob(at)
                {
                    this.lasting.lasted(oob.sequence & SEQUENCE);
                }
            }
            this.failed(e)
        };
        if into.len() == self.page.len() {
            return self.chip.read(at, into).map_err(|e| unreadable(self, e));
        }
        if self.read != Some(from) {
            self.read = None;
            self.chip.read(at, &mut self.page).map_err(|e| unreadable(self, e))?;
            self.read = Some(from);
        }
        into.copy_from_slice(&self.page[offset as usize..][..into.len()]);
        Ok(())
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        if let Some(draft) = &self.draft {
            if let Some((_, area)) = draft.pages.get(&page) {
                *into = *area;
                return Ok(());
            }
            if draft.erased.contains(&(page / self.shape.pages)) {
                *into = [0xff; AREA];
                return Ok(());
            }
        }
        match self.chip.read_oob(self.ppn(page)) {
            Ok(None) => *into = [0xff; AREA],
            Ok(Some(oob)) => {
                *into = bytes(oob);
                if matches!(Area::decode(into), Found::Page(_)) {
                    let time = self.lasting.learn(oob.sequence & SEQUENCE, oob.time);
                    self.newest_time = self.newest_time.max(time);
                }
            }
            Err(e) => {
                if matches!(e, FlashError::Unreadable(at) if !self.chip.is_closed(at)) {
                    self.unreadable.insert(page);
                }
                return Err(self.failed(e));
            }
        }
        Ok(())
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        if let Some(draft) = &mut self.draft {
            draft.pages.insert(page, (Payload::Bytes(data.into()), *area));
            return Ok(());
        }
        let oob = self.oob(area)?;
        self.put(page, |chip, at| chip.program(at, oob, data))
    }

    fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        if self.draft.is_some() {
            // Only what can be read is copied.
            self.read(from, 0, buffer)?;
            let payload = self.content(from).unwrap_or_else(|| Payload::Bytes((&*buffer).into()));
            if let Some(draft) = &mut self.draft {
                draft.pages.insert(to, (payload, *area));
            }
            return Ok(());
        }
        let oob = self.oob(area)?;
        let from = self.ppn(from);
        self.put(to, |chip, at| chip.copy(from, at, oob))
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        let pages = block * self.shape.pages..(block + 1) * self.shape.pages;
        if self.read.is_some_and(|page| pages.contains(&page)) {
            self.read = None;
        }
        if let Some(draft) = &mut self.draft {
            draft.erased.insert(block);
            draft.pages.retain(|page, _| !pages.contains(page));
            return Ok(());
        }
        // A block that is blank already is not worn, nor waited for.
        let is_blank = self.is_blank(block);
        if self.of(is_blank)? {
            return Ok(());
        }
        self.erases_are_unsynced = true;
        let done = self.chip.erase(BlockId(block));
        self.of(done)
    }

    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        let is_drafted = self.draft.as_ref().is_some_and(|draft| draft.bad.contains(&block));
        Ok(is_drafted || self.chip.is_bad(BlockId(block)))
    }

    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        if let Some(draft) = &mut self.draft {
            draft.bad.insert(block);
            return Ok(());
        }
        // A mark may become durable before earlier operations; the copies out of the block must be durable
        // first.
        let done = self.chip.sync().and_then(|()| self.chip.mark_bad(BlockId(block)));
        self.of(done)
    }

    fn is_cached(&self) -> bool {
        true
    }

    fn sync(&mut self) -> Result<(), NandError> {
        if self.draft.is_some() {
            return Ok(());
        }
        let done = self.chip.sync();
        self.of(done)?;
        (self.is_unsynced, self.erases_are_unsynced) = (false, false);
        self.lasting.all_synced();
        Ok(())
    }

    fn lasts(&self, program: u64) -> bool {
        self.lasting.has(program)
    }

    fn sync_erases(&mut self) -> Result<(), NandError> {
        if self.erases_are_unsynced { self.sync() } else { Ok(()) }
    }
}
