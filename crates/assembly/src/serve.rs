//! Prepares chips for a server: finds all of them, then mounts or formats each.

use std::ops::Range;

use thermocline_flash::Profile;
use thermocline_ftl::{
    EndOfLife, Mount, Recovery,
    index::{self, Summary},
};
use thermocline_media::{Place, Replace};
use thermocline_policy::{preset::LayerKind, trigger::Watermarks};

use crate::{
    Access, AnyLayer, AssemblyError, Device, PolicySpec, Remounter, Store,
    chips::{self, Chip, Opened},
    format::create,
    store::{begin, new_format},
};

/// Puts something around a chip before it is served.
type Wrap<'a> = Box<dyn FnOnce(Chip, &Profile) -> Chip + 'a>;

/// A chip to be served, which nothing was done to yet.
pub enum Candidate {
    /// A chip to create, of this device, on a medium whose chips end with the process.
    New(Place, Device),
    /// It is formatted.
    Formatted(Opened),
}

/// How to serve a chip.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The policies.
    pub policy: PolicySpec,
    /// Physical / logical pages − 1 of a new chip.
    pub over_provisioning: f64,
    /// When garbage collection starts and stops, in each bank.
    pub watermarks: Watermarks,
    /// Whether more blocks than these say are kept free where a sync waits for a disk, so that one does
    /// for the erases of many.
    pub grouped: bool,
    /// The time scale of age transformations, in nanoseconds; by default 363 erase times.
    pub time_scale_ns: Option<f64>,
    /// The seed.
    pub seed: u64,
    /// Regions of the export, in bytes, of data that are written once and then read.
    pub separate: Vec<Range<u64>>,
    /// Rebuilds the tables from the pages, as if there were no checkpoint.
    pub rebuild: bool,
    /// Memory for changes of a map on the chip, in bytes; the layer's default if `None`.
    pub map_cache: Option<u64>,
}

/// A chip in use.
pub struct Served {
    /// Its layer.
    pub layer: AnyLayer<Chip>,
    /// The device it stands for.
    pub device: Device,
    /// The findings of the mount, if it was formatted before.
    pub recovery: Option<Recovery>,
    /// The time of the layer, in nanoseconds: its clock goes on from there.
    pub time_ns: u64,
    /// Why it takes no more writes, if that is so.
    pub end_of_life: Option<EndOfLife>,
    /// How it was formatted.
    pub summary: Summary,
    /// Mounts it with other policies.
    pub remounter: Remounter,
}

impl Candidate {
    /// The chip of that name. `device` is asked where one has to be made.
    ///
    /// # Errors
    /// [`AssemblyError`], where it cannot be opened, and those of `device`.
    pub fn find<E: From<AssemblyError>>(
        place: &Place,
        access: &Access,
        device: impl FnOnce() -> Result<Device, E>,
    ) -> Result<Self, E> {
        if place.medium().open.is_some() {
            return Ok(Self::Formatted(chips::open(place, access)?));
        }
        Ok(Self::New(place.clone(), device()?))
    }

    /// The default policy.
    #[must_use]
    pub const fn default_policy(&self, map_cache: Option<u64>) -> &'static str {
        match self.kind(map_cache) {
            None => chips::SERVED,
            Some(kind) => chips::served(kind),
        }
    }

    /// The kind of its layer. A chip in memory gets its map on the chip if a map cache is given.
    #[must_use]
    pub const fn kind(&self, map_cache: Option<u64>) -> Option<LayerKind> {
        match self {
            Self::New(..) if map_cache.is_some() => Some(LayerKind::DemandPaged),
            Self::New(..) => None,
            Self::Formatted(opened) => Some(opened.kind()),
        }
    }

    /// Formats or mounts the chip, within whatever `wrap` puts around it.
    ///
    /// # Errors
    /// [`AssemblyError`], where the policy has no room, or the chip does not hold what can be read.
    pub fn start(
        self,
        access: &Access,
        options: &ServeOptions,
        wrap: impl FnOnce(Chip, &Profile) -> Chip,
    ) -> Result<Served, AssemblyError> {
        self.started(access, options, Box::new(wrap))
    }

    /// As above. A generic function would compile the layer, for every placement, once more where it is called.
    fn started(
        self,
        access: &Access,
        options: &ServeOptions,
        wrap: Wrap<'_>,
    ) -> Result<Served, AssemblyError> {
        let mut options = options.clone();
        if let Some(kind) = self.kind(options.map_cache) {
            options.policy = options.policy.on(kind)?;
        }
        if options.map_cache.is_some() && options.policy.layer != LayerKind::DemandPaged {
            return Err(AssemblyError::Usage(format!(
                "‹map-cache›: the chip has the {} layer, which keeps its map in memory; leave it out, or \
                 format a chip with ‹layer demand-paged›",
                options.policy.layer.name()
            )));
        }
        let policy = options.policy.clone();
        let of_policy = |e: AssemblyError| e.of_policy(&policy.name);
        let adjust = |store: Store| Store {
            watermarks: options.watermarks,
            time_scale_ns: options.time_scale_ns,
            seed: options.seed,
            separate: options.separate.clone(),
            map_cache: options.map_cache,
            ..store
        };
        let groups = options.grouped && policy.layer != LayerKind::DemandPaged;
        let grouped = |store: Store, chip: &Chip| match groups && chip.waits_for_disk() {
            true => store.plan().map(|plan| Store { watermarks: plan.grouped(), ..store }),
            false => Ok(store),
        };
        let (mut layer, device, recovery, summary) = match self {
            Self::New(place, device) => {
                let store = adjust(Store::fit(device, options.over_provisioning, policy.clone())?);
                let chip = access.with_faults(create(&place, &store, false, Replace::Never, None)?);
                let chip = wrap(chip, &store.device.profile);
                let mut layer = store.format(chip, new_format()?).map_err(of_policy)?;
                let summary = index::find_summary(&mut **layer.chip_mut())
                    .map_err(|e| AssemblyError::failed(&place, e))?;
                let lost = || AssemblyError::Failed(format!("{place}: was not formatted"));
                (layer, store.device, None, summary.ok_or_else(lost)?)
            }
            Self::Formatted(Opened { chip, device, summary }) => {
                let chip = wrap(chip, &device.profile);
                let store = adjust(Store::new(device, policy.clone(), summary.logical_pages));
                let store = grouped(store, &chip).map_err(of_policy)?;
                store.fits_open_blocks(&chip)?;
                let how = if options.rebuild { Mount::FromPages } else { Mount::Quick };
                let (layer, recovery) = store.mount(chip, how).map_err(of_policy)?;
                options.watermarks = store.watermarks;
                (layer, store.device, Some(recovery), summary)
            }
        };
        let time_ns = recovery.as_ref().map_or(0, |found| found.newest_time.saturating_add(1));
        let is_empty = recovery.as_ref().is_none_or(|found| found.pages_found == 0);
        if is_empty && !access.read_only {
            begin(&mut layer, time_ns)?;
        }
        let end_of_life = layer.inspect().end_of_life();
        let remounter = Remounter::new(device.clone(), summary.logical_pages, options);
        Ok(Served { layer, device, recovery, time_ns, end_of_life, summary, remounter })
    }
}
