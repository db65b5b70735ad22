//! Mounting a chip: its log, its pages, and the layer that they make.

use alloc::boxed::Box;

use thermocline_flash::{Chip, Flash, Geometry, Retrying};
use thermocline_policy::{placement::Placement, victim::Victim};

use super::{
    error::MountError,
    found_log::FoundLog,
    pages::Pages,
    recovery::{Mount, Recovery},
    tables::take_tables,
};
use crate::{
    journal::{
        Journal,
        durability::Durability,
        index::{
            find::{find_summary, find_traces},
            size::checkpoint_pages,
            summary::{PAGE_MAPPED, Summary, VERSION},
        },
        watermark::EPOCH,
    },
    page_mapped::{
        banks::Banks,
        config::{Config, Format},
        core::PageMapped,
        parts::Parts,
    },
};

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Mounts a formatted chip. Policies may be others than before. Only reads; the first change writes
    /// that the chip is in use.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn mount(
        mut chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let summary = summary_of(&mut chip)?;
        Self::mount_as(chip, placement, victim, config, summary, how)
    }

    /// Mounts a chip without a readable head of the index log, from its pages alone. The next
    /// unmount writes heads again. Trims recorded in a lost part of the log are forgotten.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn salvage(
        chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
        format: Format,
    ) -> Result<(Self, Recovery), MountError> {
        let Format { id, created } = format;
        let summary = Summary::of(chip.geometry(), PAGE_MAPPED, config.logical_pages, created, id);
        Self::mount_as(chip, placement, victim, config, summary, Mount::Repair)
    }

    fn mount_as(
        chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
        summary: Summary,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let mut chip = Retrying::new(chip);
        let geometry = *chip.geometry();
        check_summary(&summary, &geometry, PAGE_MAPPED, config.logical_pages)?;
        let mut found = FoundLog::find(&mut chip, &summary)?;
        let mut recovery = Recovery::default();
        let mut pages = Pages::find(&mut chip, &mut found, how, &[], &mut recovery)?;
        let GoingOn { durability, mut journal, is_exhausted } =
            GoingOn::after(&chip, found, &pages, summary, how, &mut recovery)?;
        let banks = Banks::new(&chip, placement.streams(), victim, &config, false)
            .map_err(|_| MountError::no_space(&geometry, config.logical_pages))?;
        let mut parts = Parts::new(chip, placement, config, banks);
        parts.durability = durability;
        let closed_early = take_tables(&mut parts, &mut journal, &mut pages, &mut recovery);
        if is_exhausted {
            parts.failures.log_exhausted();
        }
        // A crash in a cleaning costs room, and so does another in the first one after it, and blocks
        // that are closed before they are full: the room there is has to be used as after failures of
        // the chip.
        parts.failures.after_mount(&parts.banks, !recovery.clean || closed_early);
        parts.journal = Some(journal);
        parts.last = pages.last;
        parts.failures.last_may_fade(parts.last.is_some());
        Ok((Self::of(parts), recovery))
    }
}

/// The state that a layer continues with, besides its tables.
pub(crate) struct GoingOn {
    pub(crate) durability: Durability,
    pub(crate) journal: Box<Journal>,
    /// No block is left for the index log.
    pub(crate) is_exhausted: bool,
}

impl GoingOn {
    /// After a log and pages were found.
    ///
    /// # Errors
    /// [`MountError::Missing`], but not in a repair.
    pub(crate) fn after<C: Flash>(
        chip: &C,
        found: FoundLog,
        pages: &Pages,
        summary: Summary,
        how: Mount,
        recovery: &mut Recovery,
    ) -> Result<Self, MountError> {
        if how != Mount::Repair && recovery.missing + recovery.missing_log > 0 {
            let (pages, log_pages) = (recovery.missing, recovery.missing_log);
            return Err(MountError::Missing { pages, log_pages });
        }
        recovery.clean = found.clean.is_some();
        let programs =
            if recovery.clean { found.sequence } else { (found.sequence / EPOCH + 1) * EPOCH };
        let since = found.since.filter(|_| recovery.clean).unwrap_or(programs);
        let wanted = if how == Mount::Repair { blocks_of_checkpoint(&summary, chip) } else { 0 };
        let log = found.log(chip, wanted);
        let is_exhausted = log.has_no_free_block();
        let checkpoint = (found.complete, found.numbered);
        let clean = (found.says_clean, recovery.clean);
        let state = (how != Mount::Quick, chip.may_fade());
        let base = pages.base.unwrap_or(0);
        let geometry = chip.geometry();
        Ok(Self {
            durability: Durability::mounted(programs, since, found.known, pages.unrecorded),
            journal: Journal::mounted(summary, log, geometry, checkpoint, clean, state, base),
            is_exhausted,
        })
    }
}

/// Blocks of the log that a checkpoint and what ends it are written to.
fn blocks_of_checkpoint<C: Flash>(summary: &Summary, chip: &C) -> u32 {
    let geometry = chip.geometry();
    let pages = checkpoint_pages(geometry, summary.logical_pages);
    pages.div_ceil(geometry.data_pages_per_block().saturating_sub(1).max(1)).saturating_add(2)
}

/// How a chip was formatted.
pub(crate) fn summary_of<C: Flash>(chip: &mut C) -> Result<Summary, MountError> {
    if let Some(summary) = find_summary(chip)? {
        return Ok(summary);
    }
    Err(match find_traces(chip)? {
        Some(traces) => MountError::Headless(traces),
        None => MountError::NotFormatted,
    })
}

/// Checks that the summary agrees with the chip's geometry, the number of logical pages and the
/// layer.
pub(crate) fn check_summary(
    summary: &Summary,
    geometry: &Geometry,
    layer: u8,
    logical_pages: u32,
) -> Result<(), MountError> {
    if summary.version != VERSION {
        return Err(MountError::Version(summary.version));
    }
    if summary.layer != layer {
        return Err(MountError::Layer(summary.layer));
    }
    if let Some((what, formatted, chip)) = summary.difference(geometry) {
        return Err(MountError::Shape(what, formatted, chip));
    }
    if summary.logical_pages != logical_pages {
        let (formatted, asked) = (summary.logical_pages, logical_pages);
        return Err(MountError::LogicalPages { formatted, asked });
    }
    Ok(())
}
