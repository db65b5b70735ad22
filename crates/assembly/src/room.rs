//! The capacity of a device under a policy: the reserve, the open blocks, and the rest for data.
//!
//! In every bank the reserve stays free, and each open block needs a block of garbage beside it, or
//! garbage collection would free nothing.

use thermocline_flash::Geometry;
use thermocline_ftl::nftl;
use thermocline_policy::{
    bank::BankAssignment,
    preset::LayerKind,
    trigger::{Trigger, Watermarks},
};
use thermocline_units::show_size;

use crate::{AssemblyError, Device, PolicySpec, demand_paged};

/// Blocks and pages of a device that a policy can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// When cleaning starts and stops, in each bank.
    pub watermarks: Watermarks,
    /// Data pages less the reserve.
    pub capacity_pages: u64,
    /// Logical pages that it can hold.
    pub most_pages: u64,
    /// Data blocks of the bank that has fewest.
    smallest_bank: u64,
}

impl Room {
    /// The room on a device, with the watermarks that were asked for.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`] if the watermarks or the batch make no sense, or not on this device.
    pub fn of(
        device: &Device,
        policy: &PolicySpec,
        asked: Watermarks,
    ) -> Result<Self, AssemblyError> {
        check(asked, policy.batch)?;
        let geometry = &device.profile.geometry;
        let pages = u64::from(geometry.data_pages_per_block());
        let smallest_bank = data_blocks_by_bank(geometry).min().unwrap_or(0);
        let watermarks = resolve(asked, policy.trigger, smallest_bank);
        let reserve = u64::from(watermarks.reserve);
        let kept = match policy.layer {
            LayerKind::PageMapped | LayerKind::Dftl => reserve * u64::from(geometry.banks),
            LayerKind::Nftl => reserve.max(nftl::RESERVE.into()),
            LayerKind::InPlace => reserve,
            LayerKind::DemandPaged => 0,
        };
        let capacity_pages = u64::from(geometry.data_blocks()).saturating_sub(kept) * pages;
        if policy.layer == LayerKind::DemandPaged {
            let most_pages = demand_paged::most_pages(geometry, policy)?.into();
            return Ok(Self { watermarks, capacity_pages, most_pages, smallest_bank });
        }
        if !matches!(policy.layer, LayerKind::PageMapped | LayerKind::Dftl) {
            return Ok(Self {
                watermarks,
                capacity_pages,
                most_pages: capacity_pages,
                smallest_bank,
            });
        }
        let open = u64::from(policy.open_blocks(geometry));
        if u64::from(watermarks.high) + open > smallest_bank {
            return Err(AssemblyError::Usage(format!(
                "‹high {}› is more free blocks than a bank of device {} can have: it has \
                 {smallest_bank} in all, and policy {} keeps {open} open",
                watermarks.high, device.profile.name, policy.name
            )));
        }
        let usable = |blocks: u64| blocks.saturating_sub(reserve + open) * pages;
        let most_pages = match policy.bank_assignment {
            BankAssignment::Static => usable(smallest_bank) * u64::from(geometry.banks),
            BankAssignment::Dynamic => data_blocks_by_bank(geometry).map(usable).sum(),
        };
        Ok(Self { watermarks, capacity_pages, most_pages, smallest_bank })
    }

    /// Blocks of a bank beyond those that its share of the logical pages takes.
    #[must_use]
    pub fn spare_blocks(&self, geometry: &Geometry, logical_pages: u32) -> u32 {
        let pages = u64::from(geometry.data_pages_per_block());
        let data = u64::from(logical_pages).div_ceil(geometry.banks.into()).div_ceil(pages);
        self.smallest_bank.saturating_sub(data) as u32
    }
}

fn check(asked: Watermarks, batch: u32) -> Result<(), AssemblyError> {
    let Watermarks { reserve, low, high } = asked;
    if reserve == 0 || low <= reserve || high < low {
        return Err(AssemblyError::Usage(format!(
            "watermarks: reserve {reserve} < low {low} <= high {high} must hold, and the reserve be at \
             least 1"
        )));
    }
    if batch == 0 {
        let text = "‹batch 0› does nothing; give it at least 1";
        return Err(AssemblyError::Usage(text.into()));
    }
    Ok(())
}

/// The watermarks in a bank of `blocks` blocks; a falling threshold begins at an eighth of them by
/// default.
fn resolve(asked: Watermarks, trigger: Trigger, blocks: u64) -> Watermarks {
    let early = (blocks / 8).min(u64::from(asked.low) + 64) as u32;
    if trigger == Trigger::Falling && asked.high == asked.low {
        Watermarks { high: early.max(asked.low + 1), ..asked }
    } else {
        asked
    }
}

/// Data blocks of each bank; the last banks may hold system blocks.
fn data_blocks_by_bank(geometry: &Geometry) -> impl Iterator<Item = u64> {
    let blocks = u64::from(geometry.data_blocks());
    let whole = u64::from(geometry.blocks_per_bank);
    (0..u64::from(geometry.banks)).map(move |bank| blocks.saturating_sub(bank * whole).min(whole))
}

/// A number of pages as people read it: `1000 pages (4 MiB)`.
#[must_use]
pub fn show_pages(pages: u64, page_size: u32) -> String {
    format!("{pages} pages ({})", show_size(pages * u64::from(page_size)))
}
