//! The store that fits a device: the blocks of the index log, and the capacity after them and
//! over-provisioning.

use thermocline_flash::Geometry;
use thermocline_ftl::index;
use thermocline_policy::preset::LayerKind;
use thermocline_units::format_size;

use super::Store;
use crate::{AssemblyError, Device, PolicySpec, demand_paged};

/// Blocks of a bank beyond which no room is looked for.
const MOST_BLOCKS: u32 = 1 << 26;

impl Store {
    /// A store of a policy on a device, whose last blocks become the index log's.
    ///
    /// # Errors
    /// [`AssemblyError::Input`], with the least capacity that is enough.
    pub fn fit(
        device: Device,
        over_provisioning: f64,
        policy: PolicySpec,
    ) -> Result<Self, AssemblyError> {
        let refused = match try_fit(device.clone(), over_provisioning, policy.clone()) {
            Ok(store) => return Ok(store),
            Err(refused) => refused,
        };
        // What no size helps against has a reason of its own.
        let Some(least) = least_capacity(&device, over_provisioning, &policy) else {
            return Err(refused);
        };
        Err(AssemblyError::Input(format!(
            "device {} of {} is too small for a store with {}% over-provisioning; it takes ‹capacity \
             {}› at least, or more ‹over-provisioning›",
            device.profile.name,
            format_size(device.profile.geometry.capacity()),
            over_provisioning * 100.0,
            format_size(least)
        )))
    }
}

impl Store {
    /// A store on the smallest device of a kind that exports at least `pages` pages.
    ///
    /// # Errors
    /// [`AssemblyError::Input`], if none does.
    pub fn fit_pages(
        device: Device,
        over_provisioning: f64,
        policy: PolicySpec,
        pages: u32,
    ) -> Result<Self, AssemblyError> {
        let of = |blocks_per_bank: u32| {
            let mut device = device.clone();
            device.profile.geometry.blocks_per_bank = blocks_per_bank;
            let store = try_fit(device, over_provisioning, policy.clone()).ok();
            store.filter(|store| store.logical_pages >= pages)
        };
        let least = smallest(0, |blocks| of(blocks).is_some());
        least.and_then(of).ok_or_else(|| {
            AssemblyError::Input(format!(
                "no device like {} exports {pages} pages with {}% over-provisioning",
                device.profile.name,
                over_provisioning * 100.0
            ))
        })
    }
}

/// The smallest number of blocks above `small` that fits, if every larger number fits too.
fn smallest(small: u32, fits: impl Fn(u32) -> bool) -> Option<u32> {
    let mut small = small;
    let first = small.checked_mul(2).filter(|blocks| *blocks > 0).unwrap_or(1);
    let doubled = std::iter::successors(Some(first), |blocks| blocks.checked_mul(2));
    let mut large =
        doubled.take_while(|blocks| *blocks <= MOST_BLOCKS).find(|blocks| fits(*blocks))?;
    while large - small > 1 {
        let middle = small.midpoint(large);
        *(if fits(middle) { &mut large } else { &mut small }) = middle;
    }
    Some(large)
}

/// Bytes of the smallest chip of a device's kind, larger than it, that a store fits.
fn least_capacity(device: &Device, over: f64, policy: &PolicySpec) -> Option<u64> {
    let of = |blocks_per_bank: u32| {
        let mut device = device.clone();
        device.profile.geometry.blocks_per_bank = blocks_per_bank;
        device
    };
    let fits = |blocks: u32| try_fit(of(blocks), over, policy.clone()).is_ok();
    let large = smallest(device.profile.geometry.blocks_per_bank, fits)?;
    Some(of(large).profile.geometry.capacity())
}

/// Blocks of the index log of a store on a device without one.
fn log_blocks(whole: &Device, over: f64, layer: LayerKind) -> u32 {
    let geometry = &whole.profile.geometry;
    match layer {
        LayerKind::DemandPaged => demand_paged::system_blocks(geometry),
        _ => index::system_blocks_for(geometry, whole.exported_pages(over)),
    }
}

/// The shape of a device with the given blocks a bank and a store's index log, as far as that has room; `None` if
/// the blocks are too many.
pub(crate) fn with_log(
    device: &Device,
    blocks_per_bank: u32,
    over: f64,
    layer: LayerKind,
) -> Option<Geometry> {
    let mut device = device.clone();
    let geometry = &mut device.profile.geometry;
    (geometry.blocks_per_bank, geometry.system_blocks) = (blocks_per_bank, 0);
    let whole = *geometry;
    whole.check().ok()?;
    let system_blocks = log_blocks(&device, over, layer).min(whole.blocks() - 1);
    Some(Geometry { system_blocks, ..whole })
}

fn try_fit(mut device: Device, over: f64, policy: PolicySpec) -> Result<Store, AssemblyError> {
    device.profile.geometry.system_blocks = 0;
    let whole = device.profile.geometry;
    let needed = log_blocks(&device, over, policy.layer);
    if needed >= whole.blocks() {
        return Err(AssemblyError::Input(format!(
            "device {} has {} blocks, and the index log alone needs {needed}; give it more ‹capacity›, \
             or smaller blocks",
            device.profile.name,
            whole.blocks()
        )));
    }
    device.profile.geometry.system_blocks = needed;
    let mut logical_pages = device.exported_pages(over);
    if policy.layer == LayerKind::InPlace {
        // Whole blocks, as all of a block is written back.
        logical_pages -= logical_pages % whole.data_pages_per_block();
    }
    let store = Store::new(Device::of_chip(device.profile), policy, logical_pages);
    store.plan()?;
    Ok(store)
}
