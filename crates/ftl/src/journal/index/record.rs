//! The pages of the index log, byte by byte (`docs/format.md` has the pictures).
//!
//! Each page is whole in itself: its facts are true whatever became of the other pages.

use alloc::vec::Vec;

use thermocline_flash::{Lpn, Ppn};

use super::{
    bytes::Bytes,
    summary::{Summary, VERSION},
};

/// Bytes before the body of a page.
pub(crate) const HEADER: usize = 32;
/// Bytes of a block in the table.
pub(crate) const BLOCK_ENTRY: usize = 24;
/// Bytes of a page in the map, where placements keep notes; 4 where they do not.
pub(crate) const MAP_ENTRY: usize = 6;
/// Intervals of durable sequence numbers that a page has room for.
pub(crate) const MOST_KNOWN: usize = 8;

const MAGIC: u32 = u32::from_le_bytes(*b"TCIX");
const NOTED: u16 = 1;
const NUMBERED: u16 = 2;
/// The first flag bit of a page's place in its block, and the number of bits.
const PLACE_AT: u32 = 4;
/// No chip lives for this many programs, turns of the log or checkpoints: a page that claims more is
/// damaged, and is not used in arithmetic.
pub(crate) const MOST_PROGRAMS: u64 = 1 << 51;
pub(crate) const MOST_TURNS: u64 = 1 << 48;
const MOST_CHECKPOINTS: u32 = 1 << 31;
/// Places are counted modulo that.
pub(crate) const PLACES: u32 = 1 << (16 - PLACE_AT);
const SAYS_KEPT: u32 = 1 << 31;

/// The kind of a page of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// The beginning of a block of the log, with the summary.
    Head = 1,
    /// Logical pages that were trimmed.
    Trims = 2,
    /// The logical pages of a range that hold no data, as runs.
    AbsentRuns = 3,
    /// As `AbsentRuns`, with one bit a page.
    AbsentBits = 4,
    /// A part of the table of blocks.
    Blocks = 5,
    /// A part of the translation table.
    Map = 6,
    /// All is written: nothing was changed after the checkpoint it names.
    Clean = 7,
    /// The layer is in use again, or goes on; with the sequence numbers known to be durable.
    InUse = 8,
    /// Numbers of pages whose block was erased.
    Erased = 9,
    /// Logical pages with data whose block is erased and written back, in place.
    Rewritten = 10,
    /// Logical pages of a checkpoint without a map whose data are lost.
    Lost = 11,
}

impl Kind {
    /// Whether a page of this kind is meaningful by itself and recorded nowhere else.
    pub(crate) const fn is_kept(self) -> bool {
        matches!(self, Self::Trims | Self::Erased | Self::Rewritten)
    }

    /// Whether a page of this kind is meaningful without others.
    pub(crate) const fn is_whole(self) -> bool {
        self.is_kept() || matches!(self, Self::Clean | Self::InUse)
    }

    /// Whether each page of this kind takes a sequence number as a data page does, so that a mount notices a
    /// missing one: no other page has its content.
    pub(crate) const fn is_numbered(self) -> bool {
        matches!(self, Self::Trims)
    }

    pub(crate) fn of(number: u8) -> Option<Self> {
        [
            Self::Head,
            Self::Trims,
            Self::AbsentRuns,
            Self::AbsentBits,
            Self::Blocks,
            Self::Map,
            Self::Clean,
            Self::InUse,
            Self::Erased,
            Self::Rewritten,
            Self::Lost,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == number)
    }
}

/// The header of a page of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind of the page.
    pub kind: Kind,
    /// Programs of the layer when it was written: its facts held then.
    pub sequence: u64,
    /// Whether the last of those programs is this page itself.
    pub is_numbered: bool,
    /// The first logical page or block it is about.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// The checkpoint it belongs to; 0 for none.
    pub checkpoint: u32,
    /// Its number among the pages of that checkpoint.
    pub number: u32,
    /// Its place among the pages written to its block of the log, modulo 4096; that of the head is 1.
    pub place: u32,
}

impl Header {
    /// Of a page that is about nothing in particular.
    pub(crate) const fn plain(kind: Kind, sequence: u64) -> Self {
        let is_numbered = kind.is_numbered();
        Self { kind, sequence, is_numbered, first: 0, count: 0, checkpoint: 0, number: 0, place: 0 }
    }
}

/// A checkpoint that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complete {
    /// Its number; 0 if there is none yet.
    pub checkpoint: u32,
    /// Its pages.
    pub pages: u32,
    /// The turn of the block in which it begins.
    pub turn: u64,
    /// Whether it has a table of blocks and a map, or only lists absent pages.
    pub has_map: bool,
}

impl Complete {
    /// There is none.
    pub const NONE: Self = Self { checkpoint: 0, pages: 0, turn: 0, has_map: false };
}

/// Sequence numbers from the first to the second.
pub type Interval = (u64, u64);

/// The beginning of a block of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// How the chip was formatted.
    pub summary: Summary,
    /// The newest complete checkpoint: the log begins where it does.
    pub complete: Complete,
    /// Every page programmed with these numbers was on the chip before this block was erased.
    pub known: Vec<Interval>,
    /// Pages written to the block of the turn before.
    pub before: u32,
    /// Which turns before this one are kept: a bit each, the lowest of the first byte for the last turn. The
    /// blocks of others hold nothing that is needed. Nothing where all are kept.
    pub kept: Option<Vec<u8>>,
}

/// The table entry of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockEntry {
    /// Sequence number of its first readable page.
    pub first_sequence: u64,
    /// Time of its last readable page.
    pub newest_time: u64,
    /// Data pages up to the last that is not blank.
    pub programmed: u32,
    /// The stream it was opened for, as its first readable page says.
    pub stream: u8,
    /// It was full already when the first page of the table was written.
    pub settled: bool,
}

/// A page of the log, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// See [`Kind::Head`].
    Head(Head),
    /// See [`Kind::Trims`]: first pages and lengths of runs.
    Trims(Vec<(u32, u32)>),
    /// See [`Kind::AbsentRuns`] and [`Kind::AbsentBits`]: first pages and lengths of runs.
    Absent(Vec<(u32, u32)>),
    /// See [`Kind::Blocks`]: programs when the first page of the table was written, and the blocks.
    Blocks(u64, Vec<BlockEntry>),
    /// See [`Kind::Map`]: the place of each logical page, and its note.
    Map(Vec<(Ppn, u16)>),
    /// See [`Kind::Clean`], with the sequence numbers that are known.
    Clean(Complete, Vec<Interval>),
    /// See [`Kind::InUse`], with the sequence numbers that are known.
    InUse(Vec<Interval>),
    /// See [`Kind::Erased`].
    Erased(Vec<u64>),
    /// See [`Kind::Rewritten`]; as runs.
    Rewritten(Vec<(u32, u32)>),
    /// See [`Kind::Lost`]; as runs.
    Lost(Vec<(u32, u32)>),
}

/// A page of the log, being written.
pub(crate) struct Page {
    bytes: Vec<u8>,
}

impl Page {
    pub(crate) fn new(size: u32) -> Self {
        Self { bytes: Vec::with_capacity(size as usize) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn begin(&mut self, header: &Header, flags: u16) {
        self.bytes.clear();
        self.bytes.extend(MAGIC.to_le_bytes());
        self.bytes.extend([VERSION as u8, header.kind as u8]);
        let flags = flags | if header.is_numbered { NUMBERED } else { 0 };
        self.bytes.extend(flags.to_le_bytes());
        self.bytes.extend(header.sequence.to_le_bytes());
        for figure in [header.first, header.count, header.checkpoint, header.number] {
            self.bytes.extend(figure.to_le_bytes());
        }
    }

    /// A page written before, written again unchanged.
    pub(crate) fn same(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend(bytes);
    }

    /// It is about to be written as that one of its block of the log.
    pub(crate) fn set_place(&mut self, place: u32) {
        let flags = u16::from_le_bytes([self.bytes[6], self.bytes[7]]) & (NOTED | NUMBERED);
        let place = (place % PLACES) << PLACE_AT;
        self.bytes[6..8].copy_from_slice(&(flags | place as u16).to_le_bytes());
    }

    fn end(&mut self) {
        let size = self.bytes.capacity();
        debug_assert!(self.bytes.len() <= size);
        self.bytes.resize(size, 0);
    }

    fn u32(&mut self, figure: u32) {
        self.bytes.extend(figure.to_le_bytes());
    }

    fn complete(&mut self, complete: &Complete) {
        self.u32(complete.checkpoint);
        self.u32(complete.pages);
        self.bytes.extend(complete.turn.to_le_bytes());
        self.u32(u32::from(complete.has_map));
    }

    fn known(&mut self, known: &[Interval]) {
        self.u32(known.len() as u32);
        for (from, to) in known {
            self.bytes.extend(from.to_le_bytes());
            self.bytes.extend(to.to_le_bytes());
        }
    }

    pub(crate) fn head(&mut self, header: &Header, head: &Head) {
        self.begin(header, 0);
        head.summary.write(&mut self.bytes);
        self.complete(&head.complete);
        self.u32(head.before | if head.kept.is_some() { SAYS_KEPT } else { 0 });
        self.known(&head.known);
        let room = self.bytes.capacity() - self.bytes.len();
        self.bytes.extend(head.kept.iter().flatten().take(room));
        self.end();
    }

    pub(crate) fn clean(&mut self, header: &Header, complete: &Complete, known: &[Interval]) {
        self.begin(header, 0);
        self.complete(complete);
        self.known(known);
        self.end();
    }

    pub(crate) fn in_use(&mut self, header: &Header, known: &[Interval]) {
        self.begin(header, 0);
        self.known(known);
        self.end();
    }

    /// Numbers of pages that are gone.
    pub(crate) fn erased(&mut self, header: &Header, numbers: &[u64]) {
        self.begin(header, 0);
        self.u32(numbers.len() as u32);
        for number in numbers {
            self.bytes.extend(number.to_le_bytes());
        }
        self.end();
    }

    /// Trimmed or absent pages, as runs; `header.count` is the number of pages that the range
    /// covers.
    pub(crate) fn runs(&mut self, header: &Header, runs: &[(u32, u32)]) {
        self.begin(header, 0);
        self.u32(runs.len() as u32);
        for (first, length) in runs {
            self.u32(*first);
            self.u32(*length);
        }
        self.end();
    }

    pub(crate) fn bits(&mut self, header: &Header, absent: impl Fn(u32) -> bool) {
        self.begin(header, 0);
        for first in (header.first..header.first + header.count).step_by(8) {
            let end = (first + 8).min(header.first + header.count);
            let byte = (first..end).map(|lpn| u8::from(absent(lpn)) << (lpn - first));
            self.bytes.push(byte.fold(0, |all, bit| all | bit));
        }
        self.end();
    }

    pub(crate) fn blocks(
        &mut self,
        header: &Header,
        base: u64,
        entries: impl Iterator<Item = BlockEntry>,
    ) {
        self.begin(header, 0);
        self.bytes.extend(base.to_le_bytes());
        for entry in entries {
            self.bytes.extend(entry.first_sequence.to_le_bytes());
            self.bytes.extend(entry.newest_time.to_le_bytes());
            self.u32(entry.programmed);
            self.u32(u32::from(entry.stream) | u32::from(entry.settled) << 8);
        }
        self.end();
    }

    pub(crate) fn map(
        &mut self,
        header: &Header,
        noted: bool,
        entries: impl Iterator<Item = (Ppn, u16)>,
    ) {
        self.begin(header, if noted { NOTED } else { 0 });
        for (at, note) in entries {
            self.u32(at.0);
            if noted {
                self.bytes.extend(note.to_le_bytes());
            }
        }
        self.end();
    }
}

/// Numbers of erased pages that a page has room for.
pub(crate) const fn most_erased(page_size: u32) -> usize {
    (page_size as usize - HEADER - 4) / 8
}

/// Runs that a page has room for.
pub(crate) const fn most_runs(page_size: u32) -> usize {
    (page_size as usize - HEADER - 4) / 8
}

/// Runs of pages: their number, then the first page and the length of each.
fn read_runs(bytes: &mut Bytes<'_>) -> Option<Vec<(u32, u32)>> {
    let count = bytes.u32()?;
    bytes.many(count, |bytes| {
        let run = (bytes.u32()?, bytes.u32()?);
        run.0.checked_add(run.1).map(|_| run)
    })
}

fn read_complete(bytes: &mut Bytes<'_>) -> Option<Complete> {
    let complete = Complete {
        checkpoint: bytes.u32()?,
        pages: bytes.u32()?,
        turn: bytes.u64()?,
        has_map: bytes.u32()? != 0,
    };
    let Complete { checkpoint, turn, .. } = complete;
    (checkpoint < MOST_CHECKPOINTS && turn < MOST_TURNS).then_some(complete)
}

fn read_known(bytes: &mut Bytes<'_>) -> Option<Vec<Interval>> {
    let count = bytes.u32()?;
    bytes.many(count, |bytes| {
        let known = (bytes.u64()?, bytes.u64()?);
        (known.0 < MOST_PROGRAMS && known.1 < MOST_PROGRAMS).then_some(known)
    })
}

fn read_head(bytes: &mut Bytes<'_>, known_version: bool) -> Option<Head> {
    let summary = Summary::read(bytes)?;
    if !known_version {
        let (complete, known) = (Complete::NONE, Vec::new());
        return Some(Head { summary, complete, known, before: 0, kept: None });
    }
    let (complete, before) = (read_complete(bytes)?, bytes.u32()?);
    let known = read_known(bytes)?;
    let kept = (before & SAYS_KEPT != 0).then(|| bytes.rest().to_vec());
    Some(Head { summary, complete, known, before: before & !SAYS_KEPT, kept })
}

fn read_block_entry(bytes: &mut Bytes<'_>) -> Option<BlockEntry> {
    let (first_sequence, newest_time) = (bytes.u64()?, bytes.u64()?);
    let (programmed, beside) = (bytes.u32()?, bytes.u32()?);
    let (stream, settled) = (beside as u8, beside >> 8 & 1 != 0);
    Some(BlockEntry { first_sequence, newest_time, programmed, stream, settled })
}

impl Record {
    /// Reads a page of the log; nothing if it is none.
    #[must_use]
    pub fn decode(page: &[u8]) -> Option<(Header, Self)> {
        let mut bytes = Bytes::new(page);
        if bytes.u32()? != MAGIC {
            return None;
        }
        let known_version = bytes.u8()? == VERSION as u8;
        let kind = Kind::of(bytes.u8()?)?;
        // Of a version to come only the summary can be read, which says so.
        if !known_version && kind != Kind::Head {
            return None;
        }
        let flags = bytes.u16()?;
        let header = Header {
            kind,
            sequence: bytes.u64()?,
            is_numbered: flags & NUMBERED != 0,
            first: bytes.u32()?,
            count: bytes.u32()?,
            checkpoint: bytes.u32()?,
            number: bytes.u32()?,
            place: u32::from(flags >> PLACE_AT),
        };
        header.first.checked_add(header.count)?;
        if header.sequence >= MOST_PROGRAMS || header.checkpoint >= MOST_CHECKPOINTS {
            return None;
        }
        let record = match kind {
            Kind::Head => Self::Head(read_head(&mut bytes, known_version)?),
            Kind::Trims => Self::Trims(read_runs(&mut bytes)?),
            Kind::AbsentRuns => Self::Absent(read_runs(&mut bytes)?),
            Kind::AbsentBits => Self::Absent(set_bits(&header, bytes.rest())?),
            Kind::Blocks => Self::Blocks(bytes.u64()?, bytes.many(header.count, read_block_entry)?),
            Kind::Map => Self::Map(bytes.many(header.count, |bytes| {
                let at = Ppn(bytes.u32()?);
                let note = if flags & NOTED == 0 { 0 } else { bytes.u16()? };
                Some((at, note))
            })?),
            Kind::Clean => Self::Clean(read_complete(&mut bytes)?, read_known(&mut bytes)?),
            Kind::InUse => Self::InUse(read_known(&mut bytes)?),
            Kind::Rewritten => Self::Rewritten(read_runs(&mut bytes)?),
            Kind::Lost => Self::Lost(read_runs(&mut bytes)?),
            Kind::Erased => {
                let count = bytes.u32()?;
                Self::Erased(bytes.many(count, Bytes::u64)?)
            }
        };
        Some((header, record))
    }
}

/// The runs of bits that are set, as pages.
fn set_bits(header: &Header, bits: &[u8]) -> Option<Vec<(u32, u32)>> {
    if (header.count.div_ceil(8)) as usize > bits.len() {
        return None;
    }
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for bit in 0..header.count {
        if bits[bit as usize / 8] >> (bit % 8) & 1 == 0 {
            continue;
        }
        add_to_runs(&mut runs, Lpn(header.first + bit));
    }
    Some(runs)
}

/// Adds a page to a list of runs.
pub(crate) fn add_to_runs(runs: &mut Vec<(u32, u32)>, lpn: Lpn) {
    match runs.last_mut() {
        Some((first, length)) if *first + *length == lpn.0 => *length += 1,
        _ => runs.push((lpn.0, 1)),
    }
}
