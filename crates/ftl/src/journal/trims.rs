//! Trims that the log has not recorded yet.
//!
//! Invariant: every page that was trimmed or dropped since the log last recorded all trims,
//! and that holds no data, is in a run.

use alloc::vec::Vec;

use thermocline_flash::Lpn;

use super::{journaled::Journaled, writer::Writer};
use crate::{
    FtlError,
    journal::index::record::{Header, Kind, add_to_runs, most_runs},
};

/// Pages trimmed, as runs; some may hold data again.
pub(super) struct PendingTrims {
    runs: Vec<(u32, u32)>,
    /// Runs that a page of the log has room for.
    most: usize,
}

impl PendingTrims {
    pub(super) fn new(page_size: u32) -> Self {
        let most = most_runs(page_size);
        Self { runs: Vec::with_capacity(most), most }
    }

    /// Bytes of it.
    pub(super) const fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<(u32, u32)>()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether a page finds no room beside the others on one page of the log.
    pub(super) fn is_full_for(&self, lpn: Lpn) -> bool {
        self.runs.len() == self.most
            && self.runs.last().is_none_or(|(first, length)| first + length != lpn.0)
    }

    /// A page holds no data any more.
    pub(super) fn add(&mut self, lpn: Lpn) {
        add_to_runs(&mut self.runs, lpn);
    }

    /// Writes them to the log.
    pub(super) fn write<L: Journaled + ?Sized>(
        &mut self,
        writer: &mut Writer,
        layer: &mut L,
    ) -> Result<(), FtlError> {
        while !self.runs.is_empty() {
            // What holds data again has a newer copy, which is durable as soon as anything is erased.
            let mut runs = Vec::with_capacity(self.most);
            let mut rest = Vec::with_capacity(self.most);
            for (first, length) in self.runs.drain(..) {
                for lpn in (first..first + length).map(Lpn).filter(|&l| layer.is_absent(l)) {
                    let full = runs.len() == self.most;
                    let joins = runs.last().is_some_and(|(f, n)| f + n == lpn.0);
                    add_to_runs(if full && !joins { &mut rest } else { &mut runs }, lpn);
                }
            }
            self.runs = rest;
            if runs.is_empty() {
                return Ok(());
            }
            let written = writer.append(layer, Kind::Trims, |layer, page| {
                page.runs(&Header::plain(Kind::Trims, layer.durability().programs()), &runs);
            });
            if written.is_err() {
                // The next flush writes them.
                runs.append(&mut self.runs);
                self.runs = runs;
                return written;
            }
        }
        Ok(())
    }
}
