//! A snapshot of a device while hosts write.
//!
//! Problem. A copy of a device takes minutes, and is useful only if it is of one point in time. Idea.
//! Before the first change of a page since then, its old content goes to an unnamed sparse file, at the
//! page's own offset. The copy takes a page from there, or from the device if it has not changed.
//! Consequence. Hosts wait for a read and a write to the page cache on the first change of a page, and
//! never for the copy; memory is two bits a page; the file takes at most the data that hosts overwrite
//! meanwhile. If it cannot be written, the copy fails and hosts continue.
//!
//! Invariant: a page neither in the file nor copied yet is unchanged on the device.

use std::{collections::BTreeSet, fs::File, io, os::unix::fs::FileExt, path::Path, sync::Arc};

use thermocline_flash::Lpn;
use thermocline_ftl::FtlError;

use super::{AnyLayer, Device, Fault, Held};

/// Pages that are looked at with the device in hand once, and those with data that are taken.
const LOOKED_AT: u32 = 2048;
const TAKEN: usize = 64;

/// A bit for each page.
struct Bits(Vec<u64>);

impl Bits {
    fn new(pages: u32) -> Self {
        Self(vec![0; pages.div_ceil(64) as usize])
    }

    const fn has(&self, lpn: u32) -> bool {
        self.0.as_slice()[lpn as usize / 64] >> (lpn % 64) & 1 != 0
    }

    fn set(&mut self, lpn: u32) {
        self.0[lpn as usize / 64] |= 1 << (lpn % 64);
    }
}

/// The old content of pages that were changed.
pub(super) struct Snapshot {
    /// Pages that may be changed: kept, or copied already.
    passed: Bits,
    /// Pages in the file.
    kept: Bits,
    /// Pages that could not be read.
    lost: BTreeSet<u32>,
    file: File,
    failed: Option<Arc<str>>,
}

impl Snapshot {
    fn new(pages: u32, folder: &Path) -> io::Result<Self> {
        Ok(Self {
            passed: Bits::new(pages),
            kept: Bits::new(pages),
            lost: BTreeSet::new(),
            file: tempfile::tempfile_in(folder)?,
            failed: None,
        })
    }

    /// These pages are about to be changed.
    #[cold]
    pub(super) fn keep(
        &mut self,
        layer: &mut AnyLayer,
        page: &mut [u8],
        pages: impl Iterator<Item = u32>,
    ) {
        for lpn in pages {
            if self.failed.is_some() || self.passed.has(lpn) {
                continue;
            }
            let kept = match layer.read(Lpn(lpn), page) {
                Ok(true) => self.file.write_all_at(page, u64::from(lpn) * page.len() as u64),
                // Reads as zeros, as the file does there.
                Ok(false) => Ok(()),
                Err(e) if is_unreadable(e) => {
                    self.lost.insert(lpn);
                    Ok(())
                }
                Err(e) => Err(io::Error::other(e.to_string())),
            };
            if let Err(e) = kept {
                self.failed = Some(format!("what hosts overwrite could not be kept: {e}").into());
            }
            self.passed.set(lpn);
            self.kept.set(lpn);
        }
    }

    /// The page as it was.
    fn read(&mut self, layer: &mut AnyLayer, lpn: u32, into: &mut [u8]) -> Result<Page, FtlError> {
        self.passed.set(lpn);
        if self.lost.contains(&lpn) {
            return Ok(Page::Lost);
        }
        if self.kept.has(lpn) {
            return Ok(if self.read_kept(lpn, into) { Page::Data } else { Page::Lost });
        }
        match layer.read(Lpn(lpn), into) {
            Ok(true) => Ok(Page::Data),
            Ok(false) => Ok(Page::Nothing),
            Err(e) if is_unreadable(e) => {
                // Asked once more, it is still lost, whatever a host has written since.
                self.lost.insert(lpn);
                Ok(Page::Lost)
            }
            Err(e) => Err(e),
        }
    }

    fn read_kept(&mut self, lpn: u32, into: &mut [u8]) -> bool {
        let at = u64::from(lpn) * into.len() as u64;
        into.fill(0);
        let mut done = 0;
        // The file ends behind the last page that holds data.
        while done < into.len() {
            match self.file.read_at(&mut into[done..], at + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.failed = Some(format!("what was kept cannot be read: {e}").into());
                    return false;
                }
            }
        }
        true
    }
}

/// The old content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Data,
    Nothing,
    Lost,
}

/// Whether it is the page, and not the system, that fails.
fn is_unreadable(error: FtlError) -> bool {
    Fault::of_layer(error, 0, 1).is_unreadable()
}

/// Pages of a snapshot that was taken.
pub(crate) enum Taken {
    /// These many from a page on, with their content in the buffer.
    Pages(u32, u32),
    /// A page that cannot be read.
    Lost(u32),
    /// There are no more.
    End,
}

/// A snapshot in the hands of whoever copies it; it ends with this.
pub(crate) struct Copying<'a> {
    device: &'a Device,
    next: u32,
}

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        let mut state = self.device.state.lock();
        state.snapshot = None;
    }
}

impl Device {
    /// Takes a snapshot of all acknowledged writes and trims. Data that hosts overwrite until it is
    /// dropped are kept in an unnamed file in `folder`.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn snapshot(&self, folder: &Path) -> Result<Copying<'_>, String> {
        let mut held = self.lock().map_err(|e| e.to_string())?;
        if held.state.snapshot.is_some() {
            return Err("a copy of this export is being made already; wait for it".into());
        }
        let pages = held.state.layer.logical_pages();
        let snapshot = Snapshot::new(pages, folder).map_err(|e| {
            format!("no file in {} for what hosts overwrite: {e}", folder.display())
        })?;
        held.state.snapshot = Some(Box::new(snapshot));
        Ok(Copying { device: self, next: 0 })
    }
}

impl Copying<'_> {
    /// The next pages with data, into a buffer that is emptied first.
    ///
    /// # Errors
    /// In words: the copy is of no use.
    pub(crate) fn take(&mut self, into: &mut Vec<u8>) -> Result<Taken, String> {
        into.clear();
        let size = self.device.page_size as usize;
        loop {
            let mut held = self.device.lock().map_err(|e| e.to_string())?;
            let pages = held.state.layer.logical_pages();
            let stop = pages.min(self.next.saturating_add(LOOKED_AT));
            let mut first = self.next;
            while self.next < stop && into.len() < TAKEN * size {
                let end = into.len();
                into.resize(end + size, 0);
                let page = held.take_from_snapshot(self.next, &mut into[end..])?;
                if page != Page::Data {
                    into.truncate(end);
                }
                match page {
                    Page::Data => {}
                    Page::Nothing if end > 0 => {
                        // Not to be read again: it may be written from now on.
                        self.next += 1;
                        break;
                    }
                    Page::Nothing => first += 1,
                    // Pages taken before it come first.
                    Page::Lost if end > 0 => break,
                    Page::Lost => {
                        self.next += 1;
                        return Ok(Taken::Lost(first));
                    }
                }
                self.next += 1;
            }
            if !into.is_empty() {
                return Ok(Taken::Pages(first, (into.len() / size) as u32));
            }
            if stop == pages {
                return Ok(Taken::End);
            }
        }
    }
}

impl Held<'_> {
    fn take_from_snapshot(&mut self, lpn: u32, into: &mut [u8]) -> Result<Page, String> {
        let state = &mut *self.state;
        let Some(snapshot) = &mut state.snapshot else { return Err("the copy was ended".into()) };
        let read = snapshot.read(&mut state.layer, lpn, into);
        if let Some(failed) = &snapshot.failed {
            return Err(failed.to_string());
        }
        read.map_err(|e| Fault::of_layer(e, lpn, self.device.page_size).to_string())
    }
}
