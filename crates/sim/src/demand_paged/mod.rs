//! The layer of microcontrollers, with its map on the chip and map changes in RAM, on the
//! simulator's chip.

mod chip;
mod layer;

use thermocline_assembly::{AssemblyError, demand_paged};
use thermocline_embedded::{Change, Config, Error, Ftl, Memory, Misfit, Nand, map_pages};
use thermocline_flash::CountingChip;
use thermocline_units::format_size;

use self::{chip::MapKeeping, layer::DemandPaged};
use crate::{
    SimError,
    run::{Ran, Runner},
    setup::Setup,
};

/// Total RAM in bytes of a layer with this much RAM for map changes.
pub(crate) fn ram(setup: &Setup, cache: u64) -> u64 {
    let geometry = &setup.plan.device.profile.geometry;
    let (blocks, pages) = (geometry.data_blocks(), setup.plan.logical_pages);
    thermocline_embedded::ram(blocks, geometry.page_size, pages, changes(setup, cache)) as u64
}

/// Number of map changes that fit this many bytes; at most one for each logical page.
fn changes(setup: &Setup, cache: u64) -> u32 {
    let room = cache / size_of::<Change>() as u64;
    u32::try_from(room).unwrap_or(u32::MAX).min(setup.plan.logical_pages)
}

/// Runs a job with this many bytes of RAM for map changes.
pub(crate) fn on(
    chip: CountingChip,
    setup: &Setup,
    cache: u64,
    runner: Runner<'_>,
) -> Result<Ran, SimError> {
    let plan = &setup.plan;
    let geometry = plan.device.profile.geometry;
    if geometry.banks > 1 {
        let text = "‹map-cache› is for devices of one bank; give ‹banks 1›";
        return Err(SimError::Usage(text.into()));
    }
    if setup.keeps_contents {
        let text = "‹map-cache› does not keep what is written, which ‹policy fsaf› looks at";
        return Err(SimError::Usage(text.into()));
    }
    let (victim, mut placement) = demand_paged::halves(&plan.policy, "‹map-cache›")?;
    let pages = map_pages(geometry.page_size, plan.logical_pages) as usize;
    let chip = MapKeeping::new(chip);
    let changes = changes(setup, cache);
    let memory = Memory::allocate(&chip.geometry(), plan.logical_pages, changes);
    let config = Config { logical_pages: plan.logical_pages, spare_blocks: 0 };
    let ftl = Ftl::format(chip, memory, &*victim, &mut *placement, config).map_err(|e| match e {
        Error::Memory(_) => {
            let least = 2 * pages * size_of::<Change>();
            SimError::Usage(format!(
                "‹map-cache {cache}› is too small: a map of {pages} pages needs {least} bytes at \
                 least, two changes for each"
            ))
        }
        Error::TooLarge(most) => SimError::Input(format!(
            "{} logical pages do not fit device {} with its map: at most {most} do; give it more \
             capacity or more over-provisioning",
            plan.logical_pages, plan.device.profile.name
        )),
        Error::Shape(Misfit::Pages) => SimError::Input(format!(
            "‹map-cache› is for blocks of 2 to 511 pages, and those of device {} have {}; take ‹block-size {}›",
            plan.device.profile.name,
            geometry.pages_per_block,
            format_size(256 * u64::from(geometry.page_size))
        )),
        Error::Shape(what) => SimError::Input(format!("‹map-cache›: {what}")),
        other => AssemblyError::Failed(other.to_string()).into(),
    })?;
    runner.drive(&mut DemandPaged::new(ftl, geometry))
}
