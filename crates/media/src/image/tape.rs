//! An image in memory of which every write and sync is recorded, for tests of what a loss of power leaves,
//! and of calls that fail.
//!
//! A disk may keep any part of what was written since the last sync, a sector of 512 bytes at a time, in any
//! order: [`Power`] follows a record and makes such images. A sync that fails may have dropped what it was to
//! write, though reads show it on.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use thermocline_flash::{BlockId, Geometry, Kind, Rules};

use super::{
    Damage, Header, Image, ImageError, Open,
    layout::{Layout, PAGE},
    store::Store,
    unread::EIO,
    write_blank, write_headers,
};

/// Bytes that a disk writes whole or not at all.
pub const SECTOR: usize = 512;

const NAME: &str = "tape";

fn named(what: Damage) -> ImageError {
    ImageError { path: NAME.into(), what }
}

/// What was done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes were written there.
    Write(u64, Vec<u8>),
    /// All before lasts.
    Sync,
    /// A sync failed: nothing that was written since the last good one is written any more.
    FailedSync,
}

/// A call that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A sync.
    Sync,
}

/// What of an image is in a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A copy of the header page.
    Header,
    /// The block table.
    Table,
    /// A copy of the out-of-band areas.
    Areas,
    /// A copy of a page of the index log.
    Log,
    /// A page of data: block and page.
    Data(BlockId, u32),
    /// Nothing.
    Nothing,
}

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug)]
pub struct Failing {
    /// Those.
    pub call: Call,
    /// The first of them that does, counted from 0.
    pub from: u64,
    /// How many in a row.
    pub count: u64,
    /// The system's error number.
    pub error: i32,
    /// How much of it is done all the same, in hundredths.
    pub done: u8,
}

/// The file, shared with whoever reads the record.
#[derive(Clone, Debug, Default)]
pub struct Tape(Arc<Mutex<Reel>>);

#[derive(Debug, Default)]
struct Reel {
    bytes: Vec<u8>,
    events: Vec<Event>,
    failing: Option<Failing>,
    /// Sectors that cannot be read until they are written.
    spoilt: BTreeSet<u64>,
    /// Calls so far: reads, writes, syncs.
    calls: [u64; 3],
}

impl Tape {
    /// A file that holds this.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Reel { bytes, ..Reel::default() })))
    }

    /// A file that holds a new image.
    ///
    /// # Errors
    /// [`ImageError`], where there can be no such chip.
    pub fn blank(kind: Kind, geometry: Geometry, rules: Rules) -> Result<Self, ImageError> {
        let make = || {
            geometry.check()?;
            let layout = Layout::checked(kind, &geometry)?;
            let header = Header { id: [7; 16], kind, geometry, rules, profile: String::new() };
            let tape = Self::of(vec![0; layout.length as usize]);
            let written = write_blank(&tape, &layout, &[])
                .and_then(|()| write_headers(&tape, &header, &layout));
            written.map_err(Damage::when("write the file"))?;
            tape.reel().events.clear();
            Ok(tape)
        };
        make().map_err(named)
    }

    /// The chip in it.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn open(&self) -> Result<Image, ImageError> {
        Image::reopen(Path::new(NAME), Box::new(self.clone()), Open::default()).map_err(named)
    }

    /// What the file holds, as long as the power is on.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.reel().bytes.clone()
    }

    /// What was done so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.reel().events.clone()
    }

    /// How much that is.
    #[must_use]
    pub fn len(&self) -> usize {
        self.reel().events.len()
    }

    /// Whether nothing was done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls of that kind so far.
    #[must_use]
    pub fn calls(&self, call: Call) -> u64 {
        self.reel().calls[call as usize]
    }

    /// From now on these calls fail; calls count anew.
    pub fn fail(&self, failing: Option<Failing>) {
        let mut reel = self.reel();
        (reel.failing, reel.calls) = (failing, [0; 3]);
    }

    /// A sector cannot be read until it is written.
    pub fn spoil(&self, sector: u64) {
        self.reel().spoilt.insert(sector);
    }

    /// What a sector holds of the image of such a chip.
    #[must_use]
    pub fn part(kind: Kind, geometry: Geometry, sector: u64) -> Part {
        let (layout, at) = (Layout::of(kind, &geometry), sector * SECTOR as u64);
        let payload = layout.payload_of(BlockId(0), 0);
        let behind = payload + geometry.capacity();
        let areas = layout.areas_bytes as u64 * u64::from(geometry.blocks());
        let second = layout.second_areas_of(BlockId(0));
        let log = layout.second_payload_of(BlockId(geometry.data_blocks()), 0);
        if at < PAGE as u64 || at >= layout.second_header() {
            Part::Header
        } else if at < layout.group(layout.groups, 0) {
            Part::Table
        } else if (payload..behind).contains(&at) {
            let (block, page) = layout.page_at(at);
            match layout.record_of(page) {
                _ if block.0 >= geometry.data_blocks() => Part::Log,
                Some(_) if kind == Kind::Nand || page >= geometry.header_pages => {
                    Part::Data(block, page)
                }
                _ => Part::Areas,
            }
        } else if at < payload || (second..second + areas).contains(&at) {
            Part::Areas
        } else if log.is_some_and(|log| at >= log) {
            Part::Log
        } else {
            Part::Nothing
        }
    }

    fn reel(&self) -> MutexGuard<'_, Reel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reel {
    /// Counts a call. How much of it is done, in hundredths, if it fails, and the error.
    fn count(&mut self, call: Call) -> Option<(usize, io::Error)> {
        let number = self.calls[call as usize];
        self.calls[call as usize] += 1;
        let failing = self.failing.filter(|failing| failing.call == call)?;
        let fails = number >= failing.from && number - failing.from < failing.count;
        let error = || io::Error::from_raw_os_error(failing.error);
        fails.then(|| (usize::from(failing.done), error()))
    }

    fn put(&mut self, at: u64, from: &[u8]) -> io::Result<()> {
        let there = self.bytes.get_mut(at as usize..at as usize + from.len());
        there.ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(from);
        let end = at + from.len() as u64;
        self.spoilt.retain(|sector| {
            let from = sector * SECTOR as u64;
            from < at || from + SECTOR as u64 > end
        });
        self.events.push(Event::Write(at, from.to_vec()));
        Ok(())
    }
}

impl Store for Tape {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let mut reel = self.reel();
        let failed = reel.count(Call::Read);
        let there = reel.bytes.get(at as usize..at as usize + into.len());
        let there = there.ok_or(io::ErrorKind::UnexpectedEof)?;
        let sectors = at / SECTOR as u64..(at + into.len() as u64).div_ceil(SECTOR as u64);
        if reel.spoilt.range(sectors).next().is_some() {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let done = failed.as_ref().map_or(into.len(), |(done, _)| into.len() * done / 100);
        into[..done].copy_from_slice(&there[..done]);
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()> {
        let mut reel = self.reel();
        let failed = reel.count(Call::Write);
        let done = failed.as_ref().map_or(from.len(), |(done, _)| from.len() * done / 100);
        if done > 0 {
            reel.put(at, &from[..done])?;
        }
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    fn sync(&self) -> io::Result<()> {
        let mut reel = self.reel();
        let failed = reel.count(Call::Sync);
        let is_done = failed.as_ref().is_none_or(|(done, _)| *done == 100);
        reel.events.push(if is_done { Event::Sync } else { Event::FailedSync });
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.reel().bytes.len() as u64)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn punch(&self, at: u64, bytes: u64) -> io::Result<()> {
        self.write_at(&vec![0; bytes as usize], at)
    }
}

/// What a disk may hold as a record goes on.
#[derive(Clone, Debug)]
pub struct Power {
    lasting: Vec<u8>,
    /// What each sector held after each write since the last good sync.
    written: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    /// The same of those that a failed sync dropped.
    dropped: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    now: Vec<u8>,
}

impl Power {
    /// All that a file holds lasts.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        let (written, dropped) = (BTreeMap::new(), BTreeMap::new());
        Self { lasting: bytes.clone(), written, dropped, now: bytes }
    }

    /// Something more was done.
    pub fn then(&mut self, event: &Event) {
        match event {
            Event::Write(at, bytes) => {
                let at = *at as usize;
                self.now[at..at + bytes.len()].copy_from_slice(bytes);
                for sector in at / SECTOR..(at + bytes.len()).div_ceil(SECTOR) {
                    let Some(holds) = self.now[sector * SECTOR..].first_chunk() else { continue };
                    self.written.entry(sector).or_default().push(*holds);
                }
            }
            Event::Sync => {
                for sector in std::mem::take(&mut self.written).into_keys() {
                    self.dropped.remove(&sector);
                    let range = sector * SECTOR..(sector + 1) * SECTOR;
                    self.lasting[range.clone()].copy_from_slice(&self.now[range]);
                }
            }
            Event::FailedSync => {
                for (sector, mut held) in std::mem::take(&mut self.written) {
                    self.dropped.entry(sector).or_default().append(&mut held);
                }
            }
        }
    }

    /// What is left when power fails: of each sector that was written since it last lasted what it held before,
    /// or after the write that `choose` names of so many.
    pub fn cut(&self, mut choose: impl FnMut(usize) -> Option<usize>) -> Vec<u8> {
        let mut left = self.lasting.clone();
        for (sector, held) in self.dropped.iter().chain(&self.written) {
            if let Some(holds) = choose(held.len()).and_then(|which| held.get(which)) {
                left[sector * SECTOR..][..SECTOR].copy_from_slice(holds);
            }
        }
        left
    }
}
