//! Repairing a chip: the tables are rebuilt from the pages, and a fresh checkpoint is written.

use serde::Serialize;
use thermocline_flash::{Flash, Lpn, Ppn};
use thermocline_ftl::{Mount, Recovery};
use thermocline_media::{Medium, Place};
use thermocline_policy::preset::LayerKind;
use thermocline_units::USUAL_OVER_PROVISIONING;

use crate::{
    Access, AnyLayer, AssemblyError, PageAt, PolicySpec, Progress, Store,
    chips::{self, Chip, Found, Headless},
    reading::{places, read_all},
    store::new_format,
};

/// The result of a repair.
#[derive(Clone, Debug, Serialize)]
pub struct Repaired {
    /// The chip, as it was named.
    pub image: String,
    /// No head of the index log could be read: all that is known comes from other pages.
    pub headless: bool,
    /// Logical pages.
    pub logical_pages: u32,
    /// Out-of-band areas that were read.
    pub areas_read: u64,
    /// Logical pages that hold data.
    pub pages_with_data: u32,
    /// Pages of the chip that cannot be read.
    pub unreadable_pages: u64,
    /// Logical pages that hold an older copy than the newest, or than the one in the checkpoint, with
    /// the place of the present copy.
    pub rolled_back: Vec<PageAt>,
    /// Logical pages whose newest copy cannot be read: they stay errors.
    pub lost: Vec<PageAt>,
    /// Flushed pages not found whose logical pages are unknown: some logical pages hold older data now.
    pub missing_pages: u64,
    /// Flushed pages of the index log not found: trimmed pages may hold their data again.
    pub missing_log_pages: u64,
    /// Repairs of the medium itself.
    pub mended: Vec<String>,
}

/// Repairs a chip. Where that is cut off, it can be done again.
///
/// # Errors
/// [`AssemblyError`], where nothing can be rebuilt.
pub fn repair(
    place: &Place,
    access: &Access,
    progress: &Progress,
) -> Result<Repaired, AssemblyError> {
    #[cfg(target_os = "linux")]
    let header = crate::lost_header::renew(place)?;
    #[cfg(not(target_os = "linux"))]
    let header: Option<String> = None;
    let before = by_checkpoint(place);
    let access = Access { lengthen: true, ..access.clone() };
    let (mut layer, recovery, headless) = rebuild(place, &access)?;
    layer.inspect().check().map_err(|e| AssemblyError::failed(place, e))?;
    let rolled_back = rolled_back(&mut layer, &recovery, before.as_deref());
    let mut lost = Vec::new();
    read_all(&mut layer, place, progress, |page| lost.push(page))?;
    layer
        .upkeep()
        .unmount(recovery.newest_time.saturating_add(1))
        .map_err(|e| AssemblyError::failed(place, e))?;
    layer.chip_mut().sync().map_err(|e| AssemblyError::failed(place, e))?;
    // Losses at a truncated end of the file are in the tables by now.
    let mut mended = layer.chip_mut().mend().map_err(|e| AssemblyError::failed(place, e))?;
    mended.splice(0..0, header);
    Ok(Repaired {
        image: place.to_string(),
        headless,
        logical_pages: layer.logical_pages(),
        areas_read: recovery.areas_read,
        pages_with_data: recovery.pages_found,
        unreadable_pages: recovery.unreadable_pages,
        rolled_back,
        lost,
        missing_pages: recovery.missing,
        missing_log_pages: recovery.missing_log,
        mended,
    })
}

/// Where pages are by the checkpoint, where one can be mounted by.
fn by_checkpoint(place: &Place) -> Option<Vec<Ppn>> {
    let Ok(Found::Whole(opened)) = chips::find(place, &Access::read_only()) else { return None };
    let (mut layer, _) = opened.mount(Mount::Quick).ok()?;
    Some(places(&mut layer))
}

/// The layer as the pages say, and whether that is all there was.
fn rebuild(
    place: &Place,
    access: &Access,
) -> Result<(AnyLayer<Chip>, Recovery, bool), AssemblyError> {
    let Headless { chip, device, traces } = match chips::find(place, access)? {
        Found::Whole(opened) => {
            let (layer, recovery) = opened.mount(Mount::Repair)?;
            return Ok((layer, recovery, false));
        }
        Found::Headless(headless) => headless,
    };
    let kind = chips::kind_of(traces.layer);
    let policy = PolicySpec::parse(chips::plainest(kind), None, None)?.on(kind)?;
    let known = Store::new(device, policy, traces.logical_pages());
    let store = if traces.told_pages == 0 { as_formatted(known) } else { known };
    let (layer, recovery) = store.salvage(chip, new_format()?)?;
    Ok((layer, recovery, true))
}

/// The store with the usual number of logical pages for its size, if the pages give only a lower bound:
/// unwritten pages belong to the disk too, and a file system relies on its size.
fn as_formatted(known: Store) -> Store {
    let mut usual = known.device.exported_pages(USUAL_OVER_PROVISIONING);
    if known.policy.layer == LayerKind::InPlace {
        usual -= usual % known.device.profile.geometry.data_pages_per_block();
    }
    let larger = Store { logical_pages: usual, ..known.clone() };
    if usual > known.logical_pages && larger.plan().is_ok() { larger } else { known }
}

fn rolled_back(
    layer: &mut AnyLayer<Chip>,
    recovery: &Recovery,
    before: Option<&[Ppn]>,
) -> Vec<PageAt> {
    let now = places(layer);
    let said = |lpn: u32| before.and_then(|places| places.get(lpn as usize));
    (0..)
        .zip(now)
        .filter(|&(lpn, at)| {
            said(lpn).is_some_and(|&before| before != at)
                || recovery.rolled_back.binary_search(&Lpn(lpn)).is_ok()
        })
        .map(|(lpn, at)| PageAt::of(layer, lpn, at))
        .collect()
}
