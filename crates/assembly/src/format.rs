//! Formatting: a chip, and an empty store on it.

use serde::Serialize;
use thermocline_files::Rights;
use thermocline_flash::Flash;
use thermocline_ftl::index;
use thermocline_media::{Medium, NewChip, OpenChip, Place, Replace};
use thermocline_policy::preset::LayerKind;

use crate::{
    Access, AssemblyError, Device, PolicySpec, Store,
    chips::{self, Chip},
    store::{self, new_format},
};

/// How to format a chip.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// The device, where the medium leaves its shape open.
    pub device: Device,
    /// Physical over logical pages, less 1.
    pub over_provisioning: f64,
    /// The kind of layer.
    pub layer: LayerKind,
    /// Takes all the space of the chip now.
    pub preallocate: bool,
    /// Formats an existing chip or other file. Its data are lost.
    pub force: bool,
}

/// The new store.
#[derive(Clone, Debug, Serialize)]
pub struct Formatted {
    /// The chip, as it was named.
    pub image: String,
    /// The name of its device.
    pub device: String,
    /// Bytes that the store exports.
    pub exported_bytes: u64,
    /// Exported pages.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_size: u32,
    /// Bytes of the chip.
    pub chip_bytes: u64,
    /// Erase blocks of the chip.
    pub blocks: u32,
    /// Those of the index log.
    pub index_blocks: u32,
    /// Those that are bad.
    pub bad_blocks: u32,
    /// Blocks that may fail before the chip takes no more writes, with the policy that it is served with
    /// by default; none where that policy does not fit.
    pub spare_blocks: Option<u32>,
    /// A warning about the layer.
    pub caution: Option<&'static str>,
}

/// Makes an empty store on a chip. Creates the chip if its medium can.
///
/// # Errors
/// [`AssemblyError`]. A chip created for the store is removed then; one to be replaced is unchanged.
pub fn format(place: &Place, options: &FormatOptions) -> Result<Formatted, AssemblyError> {
    let medium = place.medium();
    if medium.open.is_none() {
        return Err(AssemblyError::Usage(format!(
            "`{place}` is gone when the program ends; `thermocline serve {place}` formats one itself"
        )));
    }
    let formatted = if medium.create.is_some() {
        let mut device = options.device.clone();
        // The index log stands twice there, and how long it is depends on the blocks.
        let shape = |blocks| {
            let over = options.over_provisioning;
            store::with_log(&options.device, blocks, over, options.layer)
        };
        if !device.fixed_capacity
            && let Some(blocks) = place.room(device.profile.kind, &shape)?
        {
            device.profile.geometry.blocks_per_bank = blocks;
        }
        let store = plainest(device, options)?;
        let replace = Replace::if_forced(options.force);
        let chip = create(place, &store, options.preallocate, replace, None)?;
        write(&store, chip, place)?
    } else {
        let (store, chip) = take_over(place, options)?;
        write(&store, chip, place)?
    };
    let spare_blocks = crate::status::as_served(place)?.map(|served| served.spare_blocks);
    Ok(Formatted { spare_blocks, caution: chips::caution(options.layer), ..formatted })
}

/// Makes a blank chip for a store.
pub(crate) fn create(
    place: &Place,
    store: &Store,
    preallocate: bool,
    replace: Replace,
    rights: Option<Rights>,
) -> Result<Chip, AssemblyError> {
    let profile = &store.device.profile;
    Ok(place.create(&NewChip {
        kind: profile.kind,
        geometry: profile.geometry,
        rules: profile.rules,
        profile: chips::profile_text(profile)?,
        preallocate,
        replace,
        rights,
    })?)
}

/// Opens a chip that is there and has a shape of its own.
fn take_over(place: &Place, options: &FormatOptions) -> Result<(Store, Chip), AssemblyError> {
    let mut opened = place.open(&OpenChip::default())?;
    if !options.force && holds_something(&mut *opened.chip) {
        return Err(AssemblyError::Usage(format!(
            "{place}: is formatted already, or holds other data; ‹force› formats it anew, and \
             what it holds is lost"
        )));
    }
    let device = chips::device_of(place, &opened)?;
    drop(opened);
    let store = plainest(device, options)?;
    let system_blocks = store.device.profile.geometry.system_blocks;
    let (chip, _) = chips::open_with(place, &Access::default(), system_blocks)?;
    Ok((store, chip))
}

fn plainest(device: Device, options: &FormatOptions) -> Result<Store, AssemblyError> {
    let policy = PolicySpec::parse(chips::plainest(options.layer), None, None)?.on(options.layer)?;
    Store::fit(device, options.over_provisioning, policy)
}

/// Whether a chip is formatted, was and has lost the heads of its log, or holds another program's data.
fn holds_something(chip: &mut dyn Medium) -> bool {
    chip.is_foreign()
        || matches!(index::find_summary(chip), Ok(Some(_)))
        || matches!(index::find_traces(chip), Ok(Some(_)))
}

fn write(store: &Store, chip: Chip, place: &Place) -> Result<Formatted, AssemblyError> {
    store.fits_open_blocks(&chip)?;
    let mut layer = store.format(chip, new_format()?)?;
    layer.upkeep().unmount(0).map_err(|e| AssemblyError::failed(place, e))?;
    let chip = layer.chip_mut();
    chip.sync().map_err(|e| AssemblyError::failed(place, e))?;
    chip.publish()?;
    let geometry = *chip.geometry();
    Ok(Formatted {
        image: place.to_string(),
        device: store.device.profile.name.clone(),
        exported_bytes: u64::from(store.logical_pages) * u64::from(geometry.page_size),
        logical_pages: store.logical_pages,
        page_size: geometry.page_size,
        chip_bytes: geometry.capacity(),
        blocks: geometry.blocks(),
        index_blocks: geometry.system_blocks,
        bad_blocks: chip.health().bad_blocks,
        spare_blocks: None,
        caution: None,
    })
}
