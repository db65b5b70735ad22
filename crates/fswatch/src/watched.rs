//! The wrapper: selects the pages that matter, and handles writes to them.

use alloc::{boxed::Box, vec, vec::Vec};
use core::ops::Range;

use thermocline_flash::Lpn;
use thermocline_ftl::{DeadDataCounters, FtlError, Layer};

use crate::{
    config::Config,
    partitions,
    sectors::{PageBuffer, Sectors, Shape, overlap},
    verdict::Verdict,
    volume::{State, Volume},
};

/// A layer that watches the host's writes and marks dead pages in the layer below.
///
/// Its own reads go through the layer below and count in that layer's
/// [`host_reads`](thermocline_ftl::Counters::host_reads). [`DeadDataCounters::extra_reads`] is
/// their number.
pub struct Watched<L: ?Sized> {
    pub(crate) inner: Box<L>,
    config: Config,
    pub(crate) shape: Shape,
    /// Only pages below this number may matter.
    pub(crate) watched_pages: u32,
    /// Sectors of partition tables.
    pub(crate) tables: Vec<Range<u64>>,
    pub(crate) volumes: Vec<Volume>,
    /// Partitions whose host trims.
    pub(crate) off: Vec<Range<u64>>,
    /// The page being written, with its old content.
    pub(crate) old: PageBuffer,
    pub(crate) buffer: PageBuffer,
    pub(crate) counters: DeadDataCounters,
}

impl<L: Layer + ?Sized> Watched<L> {
    /// Watches `inner`, and looks for existing file systems at once.
    ///
    /// Nothing is ever watched if the page size is not a multiple of the sector size, or if the
    /// sector size is not 512, 1024, 2048 or 4096 bytes.
    pub fn new(inner: Box<L>, config: Config) -> Self {
        let is_possible = matches!(config.sector_size, 512 | 1024 | 2048 | 4096)
            && config.page_size >= config.sector_size
            && config.page_size.is_multiple_of(config.sector_size);
        let sectors_per_page = if is_possible { config.page_size / config.sector_size } else { 0 };
        let shape = Shape {
            sector_size: config.sector_size as usize,
            sectors_per_page,
            sectors: u64::from(inner.logical_pages()) * u64::from(sectors_per_page),
        };
        let mut watched = Self {
            inner,
            config,
            shape,
            watched_pages: 0,
            tables: vec![],
            volumes: vec![],
            off: vec![],
            old: PageBuffer::default(),
            buffer: PageBuffer::default(),
            counters: DeadDataCounters::default(),
        };
        if shape.sectors != 0 {
            watched.find_all(0);
        }
        watched
    }

    /// The layer below.
    pub fn inner(&self) -> &L {
        &self.inner
    }

    /// The layer below, for other uses. Direct writes to it are not watched.
    pub fn inner_mut(&mut self) -> &mut L {
        &mut self.inner
    }

    /// Unwraps the layer below.
    pub fn into_inner(self) -> Box<L> {
        self.inner
    }

    /// The configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Number of file systems watched now.
    pub fn volumes(&self) -> usize {
        self.volumes.iter().filter(|volume| volume.is_watched()).count()
    }

    /// The volumes, and access to the layer below.
    fn parts(&mut self, now: u64) -> (&mut Vec<Volume>, Sectors<'_, L>) {
        let sectors = Sectors {
            inner: &mut *self.inner,
            shape: self.shape,
            buffer: &mut self.buffer,
            counters: &mut self.counters,
            now,
        };
        (&mut self.volumes, sectors)
    }

    /// Reads the partition tables, and examines every partition.
    fn find_all(&mut self, now: u64) {
        let (config, off) = (self.config, core::mem::take(&mut self.off));
        let (volumes, mut sectors) = self.parts(now);
        let found = partitions::find(&mut sectors, config.small_media);
        volumes.clear();
        for partition in found.candidates {
            let is_off = off.iter().any(|range| overlap(range, &partition));
            let mut volume = Volume { partition, state: State::Off };
            if !is_off {
                volume.examine(&config, &mut sectors);
            }
            volumes.push(volume);
        }
        self.tables = found.tables;
        self.off = off;
        self.set_bounds();
    }

    fn set_bounds(&mut self) {
        let tables = self.tables.iter().map(|range| range.end);
        let end = tables.chain(self.volumes.iter().map(Volume::end)).max().unwrap_or(0);
        self.watched_pages = self.shape.pages(&(0..end)).end;
    }

    /// Starts over after a write to a partition table, with its `data` if they are known.
    fn start_over(&mut self, lpn: Lpn, data: Option<&[u8]>, now: u64) -> Result<(), FtlError> {
        let (volumes, mut sectors) = self.parts(now);
        for volume in volumes.iter_mut() {
            volume.let_go(&mut sectors)?;
        }
        volumes.clear();
        if let Some(data) = data {
            self.buffer.hold(lpn, data);
            self.find_all(now);
        } else {
            self.tables.clear();
            self.tables.push(0..1);
            self.set_bounds();
        }
        Ok(())
    }

    /// Whether a write to any of `page` can change what is watched.
    #[inline]
    pub(crate) fn is_decisive(&self, page: &Range<u64>) -> bool {
        self.tables.iter().any(|range| overlap(range, page))
            || self.volumes.iter().any(|volume| volume.is_decisive(page))
    }

    /// The host writes a page, or zeros where there are no `data`: a write like others, for zeros say nothing
    /// about what the host trims.
    #[inline]
    pub(crate) fn write_watched(
        &mut self,
        lpn: Lpn,
        data: Option<&[u8]>,
        now: u64,
    ) -> Result<(), FtlError> {
        let page = self.shape.of(lpn);
        if self.is_decisive(&page) {
            return self.write_records(lpn, &page, data, now);
        }
        self.store(lpn, data, now)?;
        for volume in &mut self.volumes {
            volume.data_written(&page);
        }
        Ok(())
    }

    #[inline]
    fn store(&mut self, lpn: Lpn, data: Option<&[u8]>, now: u64) -> Result<(), FtlError> {
        match data {
            Some(data) => self.inner.write(lpn, data, now),
            None => self.inner.zero(lpn, now),
        }
    }

    /// Writes a page with metadata. Its effect depends on the old content, which is read first.
    fn write_records(
        &mut self,
        lpn: Lpn,
        page: &Range<u64>,
        data: Option<&[u8]>,
        now: u64,
    ) -> Result<(), FtlError> {
        let size = self.shape.page_size();
        let zeros = if data.is_none() { vec![0; size] } else { vec![] };
        let known = Some(data.unwrap_or(&zeros)).filter(|data| data.len() == size);
        let is_compared = known.is_some() && self.volumes.iter().any(Volume::is_watched);
        self.old.forget();
        self.buffer.forget();
        let is_old_known =
            is_compared && self.old.fetch(lpn, size, &mut *self.inner, &mut self.counters);
        self.store(lpn, data, now)?;
        self.records_written(lpn, page, known, is_old_known, now)
    }

    /// Handles metadata after the layer below has written the page.
    pub(crate) fn records_written(
        &mut self,
        lpn: Lpn,
        page: &Range<u64>,
        data: Option<&[u8]>,
        is_old_known: bool,
        now: u64,
    ) -> Result<(), FtlError> {
        let contents = data.filter(|_| is_old_known).map(|new| (self.old.bytes(), new));
        if self.changes_tables(page, contents) {
            return self.start_over(lpn, data, now);
        }
        let mut is_to_start_over = false;
        let config = self.config;
        let Self { inner, shape, volumes, old, buffer, counters, .. } = self;
        let mut sectors = Sectors { inner: &mut **inner, shape: *shape, buffer, counters, now };
        for volume in volumes {
            volume.data_written(page);
            if !volume.is_decisive(page) {
                continue;
            }
            let verdict = match (data, volume.is_watched()) {
                (Some(_), false) => Verdict::LookAgain,
                (None, false) => Verdict::Keep,
                (Some(new), true) if is_old_known => {
                    volume.records_written(page, old.bytes(), new, config.guards, &mut sectors)?
                }
                // The written content or the old content is unknown.
                (_, true) => Verdict::Implausible,
            };
            if verdict == Verdict::Keep {
                continue;
            }
            volume.let_go(&mut sectors)?;
            if verdict == Verdict::LookAgain {
                sectors.buffer.hold(lpn, data.unwrap_or_default());
                if volume.partition.start == 0 {
                    // A partition table may be in the first sector of the volume.
                    is_to_start_over = true;
                } else {
                    volume.examine(&config, &mut sectors);
                }
            }
        }
        if is_to_start_over {
            return self.start_over(lpn, data, now);
        }
        self.set_bounds();
        Ok(())
    }

    /// Whether a write changed a sector of the partition tables, given the page before and after.
    fn changes_tables(&self, page: &Range<u64>, contents: Option<(&[u8], &[u8])>) -> bool {
        let size = self.shape.sector_size;
        let is_in_tables = |sector: &u64| self.tables.iter().any(|range| range.contains(sector));
        let mut written = page.clone().enumerate().filter(|(_, sector)| is_in_tables(sector));
        match contents {
            Some((old, new)) if self.shape.sectors_per_page > 1 => written.any(|(i, _)| {
                let at = i * size..(i + 1) * size;
                old.get(at.clone()) != new.get(at)
            }),
            _ => written.next().is_some(),
        }
    }

    /// The host trims, so from now on inferences stop there.
    pub(crate) fn trimmed(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        let page = self.shape.of(lpn);
        let (volumes, mut sectors) = self.parts(now);
        let mut off = vec![];
        for volume in volumes.iter_mut().filter(|volume| overlap(&volume.partition, &page)) {
            if !matches!(volume.state, State::Off) {
                volume.let_go(&mut sectors)?;
                volume.state = State::Off;
                off.push(volume.partition.clone());
            }
        }
        self.off.append(&mut off);
        self.buffer.forget();
        if self.tables.iter().any(|range| overlap(range, &page)) {
            let zeros = vec![0; self.shape.page_size()];
            return self.start_over(lpn, Some(&zeros), now);
        }
        self.set_bounds();
        Ok(())
    }
}
