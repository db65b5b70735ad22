//! Checks a chip: compares its checkpoint, its pages and their data. Writes nothing.

use serde::Serialize;
use thermocline_flash::Ppn;
use thermocline_ftl::{Mount, index};
use thermocline_media::{Medium, Place};

use crate::{
    Access, AnyLayer, AssemblyError, PageAt, Progress,
    chips::{self, Chip, Opened},
    reading::{places, read_all},
};

/// Pages that are named one by one, of each kind of trouble.
const MOST_NAMED: usize = 100;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    Sound,
    /// Pages are used by nothing, until they are cleaned.
    Leaks,
    /// No data are lost, but part of the medium cannot be read: a repair rewrites it.
    Damaged,
    /// Data are lost, or the chip contradicts itself.
    Corrupt,
}

/// The findings of a check.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckReport {
    /// The chip, as it was named.
    pub image: String,
    /// Nothing is wrong with it.
    pub sound: bool,
    /// Whether it was unmounted; otherwise the next mount recovers the flushed data.
    pub clean: bool,
    /// Logical pages.
    pub logical_pages: u32,
    /// Logical pages that hold data.
    pub pages_with_data: u32,
    /// Out-of-band areas that were read to rebuild the tables.
    pub areas_read: u64,
    /// Pages whose data were read and fit their checksums.
    pub pages_verified: u64,
    /// Contradictions in the tables.
    pub contradictions: Vec<String>,
    /// Damage of the medium that lost no page, in words: one of two copies, or data that no page needs.
    pub ailments: Vec<String>,
    /// Pages that the checkpoint finds elsewhere than the pages themselves say; of a chip that was not
    /// unmounted they may be ones that were not flushed.
    pub differences: u64,
    /// The first of these.
    pub differing: Vec<PageAt>,
    /// Pages whose data cannot be read.
    pub lost: u64,
    /// The first of these.
    pub lost_pages: Vec<PageAt>,
    /// Pages of the chip that were cut off when power failed: nothing uses them until they are
    /// cleaned.
    pub leaked_pages: u64,
}

impl CheckReport {
    /// The verdict over all findings.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let contradicted = !self.contradictions.is_empty() || self.clean && self.differences > 0;
        if contradicted || self.lost > 0 {
            Verdict::Corrupt
        } else if !self.ailments.is_empty() {
            Verdict::Damaged
        } else if self.leaked_pages > 0 {
            Verdict::Leaks
        } else {
            Verdict::Sound
        }
    }
}

/// Checks a chip; the data too, unless only the tables are wanted.
///
/// # Errors
/// [`AssemblyError`], where it cannot be checked.
pub fn check(
    place: &Place,
    tables_only: bool,
    progress: &Progress,
) -> Result<CheckReport, AssemblyError> {
    check_opened(place, &|| chips::open(place, &Access::read_only()), tables_only, progress)
}

/// Checks a chip that is opened so, once to look at it as a server would, and once for its pages alone.
///
/// # Errors
/// [`AssemblyError`], where it cannot be checked.
pub fn check_opened(
    place: &Place,
    open: &dyn Fn() -> Result<Opened, AssemblyError>,
    tables_only: bool,
    progress: &Progress,
) -> Result<CheckReport, AssemblyError> {
    let mut report = CheckReport { image: place.to_string(), ..CheckReport::default() };
    let checked = check_as_served(place, open, tables_only, progress, &mut report)
        // The chip is locked by one at a time.
        .and_then(|by_checkpoint| check_from_pages(open()?, &by_checkpoint, &mut report));
    match checked {
        Err(AssemblyError::Damaged(text)) => report.contradictions.push(text),
        checked => checked?,
    }
    report.sound = report.verdict() == Verdict::Sound;
    Ok(report)
}

/// Mounts as a server would, by the checkpoint, and reads the data. Where each page is.
fn check_as_served(
    place: &Place,
    open: &dyn Fn() -> Result<Opened, AssemblyError>,
    tables_only: bool,
    progress: &Progress,
    report: &mut CheckReport,
) -> Result<Vec<Ppn>, AssemblyError> {
    let (mut layer, recovery) = open()?.mount(Mount::Quick)?;
    report.clean = recovery.clean;
    report.logical_pages = layer.logical_pages();
    report.pages_with_data = recovery.pages_found;
    report.contradictions.extend(contradiction("checkpoint", &layer));
    report.lost = recovery.lost.len() as u64;
    let by_checkpoint = places(&mut layer);
    let lost = recovery.lost.iter().take(MOST_NAMED);
    report.lost_pages = lost.map(|lpn| PageAt::of(&layer, lpn.0, Ppn::NONE)).collect();
    if !tables_only {
        // They are found again among the others.
        (report.lost, report.lost_pages) = (0, Vec::new());
        report.pages_verified = read_all(&mut layer, place, progress, |page| {
            report.lost += 1;
            if report.lost_pages.len() < MOST_NAMED {
                report.lost_pages.push(page);
            }
        })?;
    }
    // A mount need not read all of the log.
    index::entries(layer.chip_mut()).map_err(|e| AssemblyError::failed(place, e))?;
    // What could not be read of the data is among them.
    report.ailments = layer.chip().ailments();
    Ok(by_checkpoint)
}

/// Rebuilds the tables from the pages, and compares where each is.
fn check_from_pages(
    opened: Opened,
    by_checkpoint: &[Ppn],
    report: &mut CheckReport,
) -> Result<(), AssemblyError> {
    let (mut layer, rebuilt) = opened.mount(Mount::FromPages)?;
    report.contradictions.extend(contradiction("pages", &layer));
    report.areas_read = rebuilt.areas_read;
    let compared = by_checkpoint.iter().zip(places(&mut layer));
    for (lpn, (&before, now)) in (0..).zip(compared) {
        if before != now {
            report.differences += 1;
            if report.differing.len() < MOST_NAMED {
                report.differing.push(PageAt::of(&layer, lpn, before));
            }
        }
    }
    // Pages unreadable in the rebuild are either lost, or were cut off and never acknowledged.
    report.leaked_pages = rebuilt.unreadable_pages.saturating_sub(report.lost);
    // It read parts that the first pass did not need.
    for ailment in layer.chip().ailments() {
        if !report.ailments.contains(&ailment) {
            report.ailments.push(ailment);
        }
    }
    Ok(())
}

/// The contradiction in a layer's tables, with the source that they were built from.
fn contradiction(source: &str, layer: &AnyLayer<Chip>) -> Option<String> {
    layer.inspect().check().err().map(|e| format!("by the {source}: {e}"))
}
