//! A chip that fails as chips do, and does not let the layer treat what failed as sound; and a layer
//! on it with what its host wrote.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use thermocline_flash::{
    BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, SimulatedTime,
};
use thermocline_ftl::FtlError;
use thermocline_media::Ram;

use super::{Draws, On, Setup};

/// The effect of one operation instead of success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The page cannot be programmed, or the block not erased.
    Fails,
    /// The system below fails before anything was done.
    MediumBefore,
    /// As `MediumBefore`, after the operation was done.
    MediumAfter,
    /// Power fails before anything was done.
    CutBefore,
    /// Power fails when all was done.
    CutAfter,
}

/// A chip with failures: a page that failed cannot be read, a block that could not be erased holds
/// nothing that can be read, nor does a block that was marked bad.
pub struct Faulty {
    pub inner: Ram,
    /// Programs, copies and erases so far.
    pub operations: u64,
    /// Faults by the number of the operation.
    pub faults: BTreeMap<u64, Fault>,
    /// One in `one_in` operations fails, if not 0.
    pub one_in: u32,
    pub draws: Draws,
    pub unreadable: BTreeSet<Ppn>,
    /// Blocks in which something failed.
    pub failed: BTreeSet<BlockId>,
    pub marked: BTreeSet<BlockId>,
    pub ailing: VecDeque<BlockId>,
    /// Whether something was done since the last sync.
    dirty: bool,
    pub has_no_power: bool,
    /// The number of the last program.
    newest: u64,
}

impl Faulty {
    pub fn new(setup: &Setup) -> Self {
        let ram = Ram::new(setup.geometry, setup.rules).with_bad_blocks(&setup.bad);
        Self {
            inner: if setup.wears_out { ram.that_wears_out() } else { ram },
            operations: 0,
            faults: BTreeMap::new(),
            one_in: 0,
            draws: Draws(setup.seed),
            unreadable: BTreeSet::new(),
            failed: BTreeSet::new(),
            marked: BTreeSet::new(),
            ailing: VecDeque::new(),
            dirty: false,
            has_no_power: false,
            newest: 0,
        }
    }

    fn powered(&self) -> Result<(), FlashError> {
        if self.has_no_power { Err(FlashError::NoPower) } else { Ok(()) }
    }

    fn fault(&mut self) -> Result<Option<Fault>, FlashError> {
        self.powered()?;
        self.operations += 1;
        self.dirty = true;
        let random = self.one_in > 0 && self.draws.one_in(self.one_in);
        let fault = self.faults.get(&self.operations).copied();
        self.has_no_power = matches!(fault, Some(Fault::CutBefore | Fault::CutAfter));
        Ok(fault.or(random.then_some(Fault::Fails)))
    }

    fn put(
        &mut self,
        to: Ppn,
        oob: Oob,
        put: impl FnOnce(&mut Ram) -> Result<(), FlashError>,
    ) -> Result<(), FlashError> {
        let block = self.inner.geometry().block_of(to);
        assert!(!self.failed.contains(&block), "{to:?} is programmed in a block that failed");
        let fault = self.fault()?;
        let newest = std::mem::replace(&mut self.newest, oob.sequence);
        assert!(newest < oob.sequence, "{to:?} has number {} after {newest}", oob.sequence);
        match fault {
            None => put(&mut self.inner),
            Some(Fault::Fails) => {
                self.failed.insert(block);
                self.unreadable.insert(to);
                Err(FlashError::ProgramFailed(to))
            }
            Some(Fault::MediumBefore) => Err(FlashError::Medium(5)),
            Some(Fault::MediumAfter) => {
                put(&mut self.inner)?;
                Err(FlashError::Medium(5))
            }
            Some(Fault::CutBefore) => Err(FlashError::NoPower),
            Some(Fault::CutAfter) => {
                put(&mut self.inner)?;
                Err(FlashError::NoPower)
            }
        }
    }

    fn readable(&self, page: Ppn) -> Result<(), FlashError> {
        self.powered()?;
        let is_gone = self.marked.contains(&self.inner.geometry().block_of(page));
        if is_gone || self.unreadable.contains(&page) {
            return Err(FlashError::Unreadable(page));
        }
        Ok(())
    }

    fn pages(&self, block: BlockId) -> std::ops::Range<Ppn> {
        let first = self.inner.geometry().ppn(block, 0);
        first..Ppn(first.0 + self.inner.geometry().pages_per_block)
    }
}

impl Flash for Faulty {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn in_order(&self) -> bool {
        self.inner.in_order()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.marked.contains(&block) || self.inner.is_bad(block)
    }

    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.readable(from)?;
        self.inner.read(from, into)
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        self.readable(from)?;
        self.inner.read_oob(from)
    }

    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.put(to, oob, |ram| ram.program(to, oob, data))
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.readable(from)?;
        self.put(to, oob, |ram| ram.copy(from, to, oob))
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        assert!(!self.failed.contains(&block), "{block:?} is erased, and failed before");
        let fault = self.fault()?;
        match fault {
            Some(Fault::Fails) => {
                self.failed.insert(block);
                let pages = self.pages(block);
                self.unreadable.extend((pages.start.0..pages.end.0).map(Ppn));
                return Err(FlashError::EraseFailed(block));
            }
            Some(Fault::MediumBefore) => return Err(FlashError::Medium(5)),
            Some(Fault::CutBefore) => return Err(FlashError::NoPower),
            None | Some(Fault::MediumAfter | Fault::CutAfter) => self.inner.erase(block)?,
        }
        let pages = self.pages(block);
        self.unreadable.retain(|page| !pages.contains(page));
        match fault {
            None => Ok(()),
            Some(Fault::CutAfter) => Err(FlashError::NoPower),
            Some(_) => Err(FlashError::Medium(5)),
        }
    }

    fn sync(&mut self) -> Result<(), FlashError> {
        self.powered()?;
        self.dirty = false;
        Ok(())
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        assert!(self.failed.contains(&block), "{block:?} is marked bad and did not fail");
        assert!(!self.dirty, "{block:?} is marked bad before its data last elsewhere");
        self.marked.insert(block);
        Ok(())
    }
}

impl Condition for Faulty {
    fn ailing(&mut self) -> Option<BlockId> {
        self.ailing.pop_front()
    }

    fn erase_count(&self, block: BlockId) -> u32 {
        self.inner.erase_count(block)
    }
}

impl SimulatedTime for Faulty {}

/// The content that the host may find in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The last write; `None` after a trim or without a write.
    Is(Option<u64>),
    /// One or the other: the last write was answered with an error of the system below.
    Either(Option<u64>, Option<u64>),
    /// It cannot be read.
    Lost,
}

/// A layer on a faulty chip, and its host.
pub struct Host {
    pub layer: On<Faulty>,
    pub content: Vec<Content>,
    version: u64,
    page: Vec<u8>,
}

impl Host {
    pub fn new(setup: &Setup) -> Self {
        let layer = setup.build_on(Faulty::new(setup)).expect("it fits");
        let content = vec![Content::Is(None); setup.config.logical_pages as usize];
        Self { layer, content, version: 0, page: vec![0; setup.geometry.page_size as usize] }
    }

    /// Writes a new version; whatever the answer, what may be read afterwards is known.
    pub fn write(&mut self, lpn: u32, now: u64) -> Result<(), FtlError> {
        self.version += 1;
        self.page.fill(lpn as u8);
        self.page[..8].copy_from_slice(&self.version.to_le_bytes());
        let result = self.layer.write(Lpn(lpn), &self.page, now);
        let content = &mut self.content[lpn as usize];
        match (&result, &*content) {
            (Ok(()), _) => *content = Content::Is(Some(self.version)),
            (Err(FtlError::Flash(_)), Content::Is(old)) => {
                *content = Content::Either(*old, Some(self.version));
            }
            // Which of many it is shows itself when it is read.
            (Err(FtlError::Flash(_)), _) => {
                self.read(lpn);
            }
            (Err(_), _) => {}
        }
        result
    }

    pub fn trim(&mut self, lpn: u32, now: u64) -> Result<bool, FtlError> {
        let result = self.layer.trim(Lpn(lpn), now);
        if result.is_ok() {
            self.content[lpn as usize] = Content::Is(None);
        }
        result
    }

    /// Lets the page of the chip be lost that holds a logical page.
    pub fn lose(&mut self, lpn: u32) -> bool {
        let at = self.layer.locate(Lpn(lpn));
        if at == Ppn::NONE {
            return false;
        }
        self.layer.chip_mut().unreadable.insert(at);
        self.content[lpn as usize] = Content::Lost;
        true
    }

    pub fn read(&mut self, lpn: u32) {
        let mut page = vec![0xee; self.page.len()];
        let found = match self.layer.read(Lpn(lpn), &mut page) {
            Err(FtlError::Flash(FlashError::Unreadable(_))) => Content::Lost,
            Err(e) => panic!("page {lpn} is read: {e}"),
            Ok(false) => {
                assert!(page.iter().all(|&byte| byte == 0), "page {lpn} reads as zeros");
                Content::Is(None)
            }
            Ok(true) => {
                let (version, rest) = page.split_at(8);
                assert!(rest.iter().all(|&byte| byte == lpn as u8), "{rest:?} of page {lpn}");
                Content::Is(Some(u64::from_le_bytes(version.try_into().expect("8 bytes"))))
            }
        };
        let content = &mut self.content[lpn as usize];
        if let Content::Either(old, new) = *content {
            assert!([old, new].map(Content::Is).contains(&found), "page {lpn}: {found:?}");
            *content = found;
        } else {
            assert_eq!(found, *content, "what is read of page {lpn}");
        }
    }

    pub fn read_all(&mut self) {
        for lpn in 0..self.content.len() as u32 {
            self.read(lpn);
        }
    }

    pub fn check(&self) {
        self.layer.check().unwrap_or_else(|e| panic!("{e}"));
    }

    /// Does in the background whatever there is to do.
    pub fn scrub_all(&mut self, now: u64) {
        for _ in 0..10_000 {
            if !self.layer.scrub(now).expect("scrubbed") {
                return;
            }
        }
        panic!("there is always something to scrub");
    }
}
