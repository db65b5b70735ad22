//! Writing pages at the end of the index log, and with them the end of checkpoints.
//!
//! Invariant: all pages of the checkpoint `complete` are durable, and the log keeps every
//! block from its turn on. A finished checkpoint is complete only when the next block of the log
//! begins: that proves that all its pages, and all data pages up to then, are on the chip.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Flash, FlashError, Ppn};

use super::{journaled::Journaled, log::Log};
use crate::{
    FtlError,
    journal::index::{
        record::{Complete, Head, Header, Kind, Page, Record},
        summary::Summary,
    },
};

/// How far a checkpoint is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The turn of the block that its first page is in; none before that.
    turn: Option<u64>,
    pages: u32,
    next: Next,
    has_map: bool,
}

/// The next page of a checkpoint begins with that logical page or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Absent(u32),
    Lost(u32),
    Blocks(u32),
    Map(u32),
    Nothing,
}

impl Progress {
    /// The next page.
    pub(super) const fn next(&self) -> Next {
        self.next
    }

    /// Whether it gets a table of blocks and a map.
    pub(super) const fn has_map(&self) -> bool {
        self.has_map
    }

    /// Pages written.
    pub(super) const fn pages(&self) -> u32 {
        self.pages
    }
}

/// The last page of the log before the mount. Its content is written again, however often that fails.
enum Last {
    /// It is durable, or was written again.
    Lasts,
    MayFade,
    /// It was read, and is about to be written again.
    Read(Kind, Vec<u8>),
    Faded,
}

/// The end of the log, and the checkpoint being written there.
pub(super) struct Writer {
    summary: Summary,
    log: Log,
    /// The newest complete checkpoint.
    complete: Complete,
    /// The checkpoint being written.
    writing: Option<Progress>,
    /// The number of the checkpoint begun last.
    numbered: u32,
    page: Page,
    last: Last,
    /// The layer's clock at the last operation.
    time: u64,
}

impl Writer {
    pub(super) fn new(summary: Summary, mut log: Log, complete: Complete, numbered: u32) -> Self {
        log.set_layer(summary.layer);
        let page = Page::new(summary.page_size);
        let numbered = numbered.max(complete.checkpoint);
        let last = Last::Lasts;
        Self { summary, log, complete, writing: None, numbered, page, last, time: 0 }
    }

    /// The page that was written last may fade.
    pub(super) fn last_may_fade(&mut self) {
        self.last = Last::MayFade;
    }

    /// Whether its content must be written again.
    pub(super) const fn may_last_fade(&self) -> bool {
        !matches!(self.last, Last::Lasts)
    }

    /// A checkpoint has the content of the faded page.
    pub(super) fn last_is_told(&mut self) {
        self.last = Last::Lasts;
    }

    /// Writes the last page from before the mount again, if it may fade; the first copy is no longer needed. False if
    /// it has faded already: its content must be recorded by other means.
    #[cold]
    pub(super) fn secure<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
    ) -> Result<bool, FtlError> {
        let geometry = *layer.chip().geometry();
        if let Last::MayFade = self.last {
            match self.log.last_page(&geometry) {
                Some((at, false)) => self.last = self.look_at_last(layer, at)?,
                // Other pages rely on what it says about the previous checkpoint.
                Some((_, true)) => {
                    self.begin_block(layer)?;
                    self.last = Last::Lasts;
                }
                None => self.last = Last::Lasts,
            }
        }
        let (kind, bytes) = match &self.last {
            Last::Read(kind, bytes) => (*kind, bytes.clone()),
            Last::Faded => return Ok(false),
            Last::Lasts | Last::MayFade => return Ok(true),
        };
        loop {
            if self.log.is_full(geometry.pages_per_block) {
                self.begin_block(layer)?;
            }
            self.page.same(&bytes);
            self.page.set_place(self.log.written() + 1);
            if self.log.append(layer.chip_mut(), &self.page, kind, self.time)? {
                layer.counters_mut().index_programs += 1;
                self.last = Last::Lasts;
                return Ok(true);
            }
        }
    }

    /// Reads that page, which is not missed where it is from now on.
    fn look_at_last<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        at: Ppn,
    ) -> Result<Last, FtlError> {
        let chip = layer.chip_mut();
        let mut bytes = vec![0; chip.geometry().page_size as usize];
        let read = chip.read_oob(at).and_then(|oob| chip.read(at, &mut bytes).map(|()| oob));
        let last = match read {
            Ok(oob) => match oob.and_then(|oob| Kind::of(oob.note as u8)) {
                // The in-use record replaces the clean record.
                Some(kind) if kind.is_whole() && kind != Kind::Clean => Last::Read(kind, bytes),
                // A part of an abandoned checkpoint.
                _ => Last::Lasts,
            },
            Err(FlashError::Unreadable(_)) => Last::Faded,
            Err(e) => return Err(e.into()),
        };
        self.log.forget_last();
        Ok(last)
    }

    pub(super) const fn log(&self) -> &Log {
        &self.log
    }

    /// Bytes of it.
    pub(super) const fn memory(&self) -> usize {
        self.summary.page_size as usize
    }

    /// It is so late, by the layer's clock.
    pub(super) const fn set_time(&mut self, now: u64) {
        self.time = now;
    }

    /// Writes a page to the log; a new block first, if the last one is full. `fill` writes the page,
    /// once for each attempt.
    pub(super) fn append<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        kind: Kind,
        fill: impl Fn(&L, &mut Page),
    ) -> Result<(), FtlError> {
        loop {
            if self.log.is_full(layer.chip().geometry().pages_per_block) {
                self.begin_block(layer)?;
            }
            if kind.is_numbered() {
                layer.durability_mut().take_number();
            }
            fill(layer, &mut self.page);
            debug_assert!(
                Record::decode(self.page.bytes()).is_some_and(|(header, _)| header.kind == kind),
                "a page of the log reads as what it was written as"
            );
            self.page.set_place(self.log.written() + 1);
            let done = self.log.append(layer.chip_mut(), &self.page, kind, self.time);
            if done != Ok(true) && kind.is_numbered() {
                layer.durability_mut().last_failed();
            }
            if done? {
                layer.counters_mut().index_programs += 1;
                return Ok(());
            }
        }
    }

    /// Begins a block of the log, which proves that everything before is on the chip: a finished
    /// checkpoint is complete, and the log needs nothing from before it.
    pub(super) fn begin_block<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
    ) -> Result<(), FtlError> {
        let finished = self.finished();
        let complete = finished.unwrap_or(self.complete);
        let (known, programs) = (layer.durability().known_now(), layer.durability().programs());
        if finished.is_some() {
            self.log.keep_from(complete.turn);
        }
        let (before, kept) = (self.log.written(), Some(self.log.kept()));
        let head = Head { summary: self.summary, complete, known, before, kept };
        self.page.head(&Header::plain(Kind::Head, programs), &head);
        self.page.set_place(1);
        let begun = self.log.begin_block(layer.chip_mut(), &self.page, self.time);
        if begun == Err(FtlError::ReadOnly) {
            layer.log_exhausted();
        }
        begun?;
        layer.counters_mut().index_programs += 1;
        layer.durability_mut().head_recorded(head.known);
        if finished.is_some() {
            self.complete = complete;
            self.drop_checkpoint();
            self.log.release(layer.chip(), complete.turn);
        }
        let writing = self.writing.and_then(|writing| writing.turn);
        self.log.release_unkept(layer.chip(), writing.or(self.log.turn()).unwrap_or(0));
        Ok(())
    }

    /// The newest complete checkpoint.
    pub(super) const fn complete(&self) -> &Complete {
        &self.complete
    }

    /// The checkpoint that is written to its end, if it only needs to be proved.
    pub(super) fn finished(&self) -> Option<Complete> {
        let writing = self.writing.filter(|writing| writing.next == Next::Nothing)?;
        Some(Complete {
            checkpoint: self.numbered,
            pages: writing.pages,
            turn: writing.turn?,
            has_map: writing.has_map,
        })
    }

    /// The checkpoint being written, and its number.
    pub(super) fn writing(&self) -> Option<(Progress, u32)> {
        self.writing.map(|writing| (writing, self.numbered))
    }

    /// Checkpoints begun since the newest complete one.
    pub(super) const fn unfinished(&self) -> u32 {
        self.numbered - self.complete.checkpoint
    }

    /// Begins a checkpoint, unless one is being written.
    pub(super) const fn begin_checkpoint(&mut self, has_map: bool) {
        if self.writing.is_none() {
            self.numbered += 1;
            self.writing = Some(Progress { turn: None, pages: 0, next: Next::Absent(0), has_map });
        }
    }

    /// A page of the checkpoint was written, and `next` comes after it.
    pub(super) fn checkpoint_page_written(&mut self, next: Next) {
        let turn = self.log.turn();
        if let Some(writing) = &mut self.writing {
            writing.turn = writing.turn.or(turn);
            writing.pages += 1;
            writing.next = next;
        }
    }

    /// Forgets the checkpoint being written: it is complete, or will never be.
    pub(super) const fn drop_checkpoint(&mut self) {
        self.writing = None;
    }
}
