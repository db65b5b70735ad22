//! The microcontrollers' layer on a chip that holds data: its map is on the chip, so a store takes little memory, and
//! a device with little memory can use the same store.

mod bits;
pub mod dump;
mod lasting;
mod layer;
mod nand;
mod policies;

use thermocline_embedded::{
    Change, Config, Error, Ftl, Memory, entries_of_map_page, map_pages, most_logical_pages,
};
use thermocline_flash::{Chip, Geometry};
use thermocline_ftl::{
    Format, Layer, Mount, MountError, PageIo, Recovery,
    index::{self, DEMAND_PAGED},
};
use thermocline_policy::trigger::Watermarks;

use self::{layer::DemandPaged, nand::OnFlash};
pub use self::{
    nand::BesidePage,
    policies::{Halves, halves},
};
use crate::{AnyLayer, AssemblyError, PolicySpec, store::Begin};

/// Default memory for changes of the map, in bytes.
const DEFAULT_CACHE: u64 = 256 << 10;
/// Bytes beyond which a change waits too long for room among the others.
const MOST_CACHE: u64 = 16 << 20;
/// Changes for each map page: the minimum, and the default.
const LEAST_CHANGES: u64 = 2;
const DEFAULT_CHANGES: u64 = 4;

/// Blocks of the chip that hold its format.
pub(crate) const fn system_blocks(geometry: &Geometry) -> u32 {
    index::blocks_for_heads(geometry.blocks())
}

/// The most logical pages that a chip of that shape can hold.
pub(crate) fn most_pages(geometry: &Geometry, policy: &PolicySpec) -> Result<u32, AssemblyError> {
    let (_, placement) = halves(policy, WHERE)?;
    Ok(most_logical_pages(&nand::shape(geometry), 0, placement.streams()))
}

/// Blocks that may go bad before the chip is too small for the logical pages.
pub(crate) fn spare_blocks(geometry: &Geometry, logical_pages: u32, streams: u8) -> u32 {
    let shape = nand::shape(geometry);
    let holds = |bad: &u32| most_logical_pages(&shape, *bad, streams) >= logical_pages;
    (1..geometry.data_blocks()).take_while(holds).last().unwrap_or(0)
}

/// The layer's name in the errors about policies.
const WHERE: &str = "the demand-paged layer";

/// A store to be put on a chip.
pub(crate) struct Plan<'a> {
    pub(crate) policy: &'a PolicySpec,
    pub(crate) geometry: Geometry,
    pub(crate) logical_pages: u32,
    pub(crate) map_cache: Option<u64>,
    pub(crate) watermarks: Watermarks,
}

impl Plan<'_> {
    /// Refuses what this layer does not do.
    pub(crate) fn check(&self) -> Result<(), AssemblyError> {
        halves(self.policy, WHERE)?;
        let refused = |what: &str| {
            let name = &self.policy.name;
            Err(AssemblyError::Usage(format!("policy {name} on {WHERE}: {what}")))
        };
        if self.watermarks != Watermarks::default() {
            return refused(
                "it keeps watermarks of its own; leave out ‹reserve›, ‹low› and ‹high›",
            );
        }
        if self.policy.idle.is_some() {
            return refused("it does not clean in idle time; leave out ‹idle›");
        }
        if self.policy.wants_contents() {
            return refused("it infers no dead data; leave out ‹dead-data›");
        }
        self.changes().map(drop)
    }

    /// Changes of the map that memory has room for.
    fn changes(&self) -> Result<u32, AssemblyError> {
        let size = size_of::<Change>() as u64;
        let pages = u64::from(map_pages(self.geometry.page_size, self.logical_pages));
        let default = DEFAULT_CACHE.max(DEFAULT_CHANGES * pages * size).min(MOST_CACHE);
        let cache = self.map_cache.unwrap_or(default);
        // A chip that loses unsynced pages may lose all changes of a map page: a mount has room for them.
        let entries = entries_of_map_page(self.geometry.page_size).into();
        let least = (LEAST_CHANGES * pages).max(entries) * size;
        if cache < least {
            return Err(AssemblyError::Usage(format!(
                "‹map-cache {cache}› is too small: a map of {pages} pages needs {least} bytes at \
                 least"
            )));
        }
        if cache > MOST_CACHE {
            return Err(AssemblyError::Usage(format!(
                "‹map-cache {cache}› is too large: changes are kept in order, and from {MOST_CACHE} \
                 bytes on the next one waits longer for its place than for the chip; take the \
                 page-mapped layer, which has all of its map in memory"
            )));
        }
        Ok((cache / size) as u32)
    }

    /// Puts the layer on a chip.
    pub(crate) fn build<C: Chip + Send + 'static>(
        &self,
        chip: C,
        begin: Begin,
    ) -> Result<(AnyLayer<C>, Option<Recovery>), AssemblyError> {
        self.layer(chip, begin).map(|(layer, recovery)| (Box::new(layer) as _, recovery))
    }

    fn layer<C: Chip + Send + 'static>(
        &self,
        chip: C,
        begin: Begin,
    ) -> Result<(DemandPaged<C>, Option<Recovery>), AssemblyError> {
        self.check()?;
        let (victim, placement) = halves(self.policy, WHERE)?;
        let streams = placement.streams();
        let nand = OnFlash::new(chip);
        let shape = nand::shape(&self.geometry);
        // Without a summary only the map gives the number of logical pages.
        let most_pages = match begin {
            Begin::Salvage(_) => shape.blocks * shape.pages,
            Begin::Format(_) | Begin::Mount(_) => self.logical_pages,
        };
        let changes = Self { logical_pages: most_pages, ..*self }.changes()?;
        let memory = Memory::allocate(&shape, most_pages, changes);
        let mut ftl =
            Ftl::unmounted(nand, memory, victim, placement).map_err(|e| of_embedded(e, None))?;
        let spare = spare_blocks(&self.geometry, self.logical_pages, streams);
        match begin {
            Begin::Format(format) => {
                index::erase_heads(&mut ftl.nand_mut().chip)?;
                let config = Config { logical_pages: self.logical_pages, spare_blocks: 0 };
                let done = ftl.reformat(config);
                done.map_err(|e| of_embedded(e, ftl.nand().refused))?;
                write_heads(&mut ftl.nand_mut().chip, self.logical_pages, format)?;
                let layer = DemandPaged::new(ftl, spare).map_err(|e| of_embedded(e, None))?;
                Ok((layer, None))
            }
            Begin::Mount(how) => {
                let found =
                    index::find_summary(&mut ftl.nand_mut().chip).map_err(MountError::from)?;
                let summary = found.ok_or(MountError::NotFormatted)?;
                if summary.layer != DEMAND_PAGED {
                    return Err(MountError::Layer(summary.layer).into());
                }
                if let Some((what, formatted, chip)) = summary.difference(&self.geometry) {
                    return Err(MountError::Shape(what, formatted, chip).into());
                }
                let (mut layer, recovery) = mounted(ftl, spare, how)?;
                if layer.logical_pages() != self.logical_pages {
                    let (formatted, asked) = (layer.logical_pages(), self.logical_pages);
                    return Err(MountError::LogicalPages { formatted, asked }.into());
                }
                if how == Mount::FromPages {
                    layer.audit().map_err(|e| of_embedded(e, None))?;
                }
                Ok((layer, Some(recovery)))
            }
            Begin::Salvage(format) => {
                let (mut layer, recovery) = mounted(ftl, spare, Mount::Repair)?;
                let pages = layer.logical_pages();
                write_heads(layer.chip_mut(), pages, format)?;
                Ok((layer, Some(recovery)))
            }
        }
    }
}

fn mounted<C: Chip + Send + 'static>(
    mut ftl: layer::Store<C>,
    spare: u32,
    how: Mount,
) -> Result<(DemandPaged<C>, Recovery), AssemblyError> {
    if how != Mount::Repair {
        ftl.nand_mut().begin_draft();
    }
    let done = ftl.remount();
    done.map_err(|e| of_embedded(e, ftl.nand().refused))?;
    let layer = DemandPaged::new(ftl, spare).map_err(|e| of_embedded(e, None))?;
    let recovery = layer.recovery();
    Ok((layer, recovery))
}

fn write_heads<C: Chip>(chip: &mut C, pages: u32, format: Format) -> Result<(), AssemblyError> {
    index::write_heads(chip, DEMAND_PAGED, pages, format)?;
    Ok(())
}

/// An error of the layer, with the chip's error.
fn of_embedded(error: Error, refused: Option<thermocline_flash::FlashError>) -> AssemblyError {
    match (error, refused) {
        (Error::Device, Some(why)) => AssemblyError::Failed(why.to_string()),
        (Error::Device, None) => AssemblyError::Failed(error.to_string()),
        (Error::MapUnreadable(_), _) => AssemblyError::Damaged(error.to_string()),
        _ => AssemblyError::Input(format!("{WHERE}: {error}")),
    }
}
