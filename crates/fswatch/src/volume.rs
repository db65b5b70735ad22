//! A partition and the file system in it.

use alloc::{boxed::Box, vec::Vec};
use core::ops::Range;

use thermocline_ftl::{FtlError, Layer};

use crate::{
    config::{Config, Guards},
    exfat::ExFat,
    ext::{Ext, Layout},
    fat::Fat,
    ntfs::Ntfs,
    sectors::{Sectors, overlap},
    verdict::{Found, Verdict},
};

pub(crate) enum State {
    /// No known file system, with the sectors that may create one.
    Idle(Vec<Range<u64>>),
    Fat(Fat),
    ExFat(ExFat),
    Ext(Box<Ext>),
    Ntfs(Box<Ntfs>),
    /// The host trims, so inferences are unnecessary.
    Off,
}

/// A partition, or the whole device without partitions.
pub(crate) struct Volume {
    pub partition: Range<u64>,
    pub state: State,
}

impl Volume {
    /// Determines the file system of a partition.
    pub fn examine<L: Layer + ?Sized>(&mut self, config: &Config, sectors: &mut Sectors<'_, L>) {
        let mut decisive = Vec::new();
        match Fat::recognise(&self.partition, config.small_media, sectors) {
            Found::Complete(volume) => {
                sectors.counters.armed += 1;
                self.state = State::Fat(volume);
                return;
            }
            Found::Incomplete(again) => decisive = again,
            Found::Nothing => {}
        }
        match ExFat::recognise(&self.partition, sectors) {
            Found::Complete(volume) => {
                sectors.counters.armed += 1;
                self.state = State::ExFat(volume);
                return;
            }
            Found::Incomplete(again) => decisive = again,
            Found::Nothing => {}
        }
        match Ext::recognise(&self.partition, sectors) {
            Found::Complete(volume) => {
                sectors.counters.armed += 1;
                self.state = State::Ext(Box::new(volume));
                return;
            }
            Found::Incomplete(again) => decisive = again,
            Found::Nothing => {}
        }
        match Ntfs::recognise(&self.partition, sectors) {
            Found::Complete(volume) => {
                sectors.counters.armed += 1;
                self.state = State::Ntfs(Box::new(volume));
                return;
            }
            Found::Incomplete(again) => decisive = again,
            Found::Nothing => {}
        }
        decisive.push(Layout::head(self.partition.start, sectors.shape.sector_size));
        self.state = State::Idle(decisive);
    }

    /// Stops watching, and revives whatever can be revived.
    pub fn let_go<L: Layer + ?Sized>(
        &mut self,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        let decisive = match &self.state {
            State::Fat(volume) => volume.decisive(),
            State::ExFat(volume) => volume.decisive(),
            State::Ext(volume) => volume.decisive(),
            State::Ntfs(volume) => volume.decisive(),
            State::Idle(_) | State::Off => return Ok(()),
        };
        sectors.counters.disarmed += 1;
        match core::mem::replace(&mut self.state, State::Idle(decisive)) {
            State::Fat(mut volume) => volume.clusters().revive_all(sectors),
            State::ExFat(mut volume) => volume.clusters().revive_all(sectors),
            State::Ext(mut volume) => volume.clusters().revive_all(sectors),
            State::Ntfs(mut volume) => volume.clusters().revive_all(sectors),
            State::Idle(_) | State::Off => Ok(()),
        }
    }

    pub const fn is_watched(&self) -> bool {
        !matches!(self.state, State::Idle(_) | State::Off)
    }

    /// The sector after the last whose writes matter.
    pub fn end(&self) -> u64 {
        match &self.state {
            State::Idle(decisive) => decisive.iter().map(|range| range.end).max().unwrap_or(0),
            State::Off => 0,
            _ => self.partition.end,
        }
    }

    /// Whether a write to any of `sectors` matters to the volume.
    #[inline]
    pub fn is_decisive(&self, sectors: &Range<u64>) -> bool {
        match &self.state {
            State::Idle(decisive) => decisive.iter().any(|range| overlap(range, sectors)),
            State::Fat(volume) => volume.is_metadata(sectors),
            State::ExFat(volume) => volume.is_metadata(sectors),
            State::Ext(volume) => volume.is_metadata(sectors),
            State::Ntfs(volume) => volume.is_metadata(sectors),
            State::Off => false,
        }
    }

    /// The host wrote a page of any kind.
    #[inline]
    pub fn data_written(&mut self, page: &Range<u64>) {
        match &mut self.state {
            State::Fat(volume) => volume.clusters().data_written(page),
            State::ExFat(volume) => volume.clusters().data_written(page),
            State::Ext(volume) => volume.clusters().data_written(page),
            State::Ntfs(volume) => volume.clusters().data_written(page),
            State::Idle(_) | State::Off => {}
        }
    }

    /// The host wrote a page with metadata of a watched volume.
    pub fn records_written<L: Layer + ?Sized>(
        &mut self,
        page: &Range<u64>,
        old: &[u8],
        new: &[u8],
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        let size = sectors.shape.sector_size;
        // Sectors of a page that did not change were only written along with the others. Counting
        // them as written would defeat the guard.
        let is_alone = sectors.shape.sectors_per_page == 1;
        let contents = old.chunks_exact(size).zip(new.chunks_exact(size));
        let written = page.clone().zip(contents).filter(|(_, (old, new))| is_alone || old != new);
        // Frees are applied only after the whole page was checked and all its allocations were
        // applied.
        for (sector, (old, new)) in written.clone() {
            if !self.is_decisive(&(sector..sector + 1)) {
                continue;
            }
            let verdict = match &mut self.state {
                State::Fat(volume) => volume.written(sector, old, new, guards, sectors)?,
                State::ExFat(volume) => volume.written(sector, old, new, sectors)?,
                State::Ext(volume) => volume.written(sector, new, sectors)?,
                State::Ntfs(volume) => volume.written(sector, new, sectors)?,
                State::Idle(_) | State::Off => Verdict::Keep,
            };
            if verdict != Verdict::Keep {
                return Ok(verdict);
            }
        }
        for (sector, (old, new)) in written {
            match &mut self.state {
                State::Fat(volume) => volume.freed(sector, old, new, guards, sectors)?,
                State::ExFat(volume) => volume.freed(sector, old, new, guards, sectors)?,
                State::Ext(volume) => volume.freed(sector, old, new, guards, sectors)?,
                State::Ntfs(volume) => volume.freed(sector, old, new, guards, sectors)?,
                State::Idle(_) | State::Off => {}
            }
        }
        Ok(Verdict::Keep)
    }

    /// Memory of its tables in bytes.
    pub fn memory(&self) -> usize {
        match &self.state {
            State::Idle(decisive) => decisive.capacity() * size_of::<Range<u64>>(),
            State::Fat(volume) => volume.memory(),
            State::ExFat(volume) => volume.memory(),
            State::Ext(volume) => size_of::<Ext>() + volume.memory(),
            State::Ntfs(volume) => size_of::<Ntfs>() + volume.memory(),
            State::Off => 0,
        }
    }
}
