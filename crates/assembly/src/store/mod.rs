//! A store: a layer over a chip that holds data, formatted, mounted or rebuilt.

mod fit;

pub(crate) use fit::with_log;

use std::{ops::Range, time::SystemTime};

use thermocline_flash::Chip;
use thermocline_ftl::{Format, InPlace, Layer, Mount, Nftl, PageMapped, Recovery};
use thermocline_media::Medium;
use thermocline_policy::{
    placement::{self, Placement},
    preset::LayerKind,
    trigger::Watermarks,
};

use crate::{
    AssemblyError, Device, LayerPlan, LayerVisitor, PolicySpec, Room, apart::Apart, demand_paged,
    room::show_pages,
};

/// A layer of a kind that is known only when the program runs.
pub type AnyLayer<C> = Box<dyn Layer<Chip = C> + Send>;

/// The settings of a layer over a chip that holds data.
#[derive(Clone, Debug)]
pub struct Store {
    /// The device, with the chip's own geometry.
    pub device: Device,
    /// The policies.
    pub policy: PolicySpec,
    /// Logical pages it exports.
    pub logical_pages: u32,
    /// When cleaning starts and stops, in each bank.
    pub watermarks: Watermarks,
    /// The time scale of age transformations, in nanoseconds; by default 363 erase times.
    pub time_scale_ns: Option<f64>,
    /// The seed.
    pub seed: u64,
    /// Regions, in bytes, of data that are written once and then read: they are kept in blocks of their own.
    pub separate: Vec<Range<u64>>,
    /// Memory for changes of a map on the chip, in bytes; by default sized for the chip.
    pub map_cache: Option<u64>,
}

impl Store {
    /// A store with every choice at its default.
    #[must_use]
    pub fn new(device: Device, policy: PolicySpec, logical_pages: u32) -> Self {
        let watermarks = Watermarks::default();
        let (time_scale_ns, separate) = (None, Vec::new());
        let (seed, map_cache) = (1, None);
        Self { device, policy, logical_pages, watermarks, time_scale_ns, seed, separate, map_cache }
    }

    /// Makes an empty store of a chip; its data are lost.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`] if the policy keeps nothing on a chip, [`AssemblyError::Input`] if the
    /// device has no room for it or the chip fails.
    pub fn format<C: Chip + Send + 'static>(
        &self,
        chip: C,
        format: Format,
    ) -> Result<AnyLayer<C>, AssemblyError> {
        self.build(chip, Begin::Format(format)).map(|(layer, _)| layer)
    }

    /// Mounts a chip. Writes nothing before the first change.
    ///
    /// # Errors
    /// Those of [`format`](Self::format), and [`AssemblyError::Input`] if the chip does not hold a store
    /// that can be read.
    pub fn mount<C: Chip + Send + 'static>(
        &self,
        chip: C,
        how: Mount,
    ) -> Result<(AnyLayer<C>, Recovery), AssemblyError> {
        let (layer, recovery) = self.build(chip, Begin::Mount(how))?;
        Ok((layer, recovery.expect("a mount reports what it found")))
    }

    /// Mounts a chip without a readable head of the index log, from its pages alone. The next unmount
    /// writes heads again, with this format.
    ///
    /// # Errors
    /// Those of [`mount`](Self::mount).
    pub fn salvage<C: Chip + Send + 'static>(
        &self,
        chip: C,
        format: Format,
    ) -> Result<(AnyLayer<C>, Recovery), AssemblyError> {
        let (layer, recovery) = self.build(chip, Begin::Salvage(format))?;
        Ok((layer, recovery.expect("a mount reports what it found")))
    }

    /// Resolves the settings, and checks that the device has room, without a chip.
    ///
    /// # Errors
    /// Those of [`format`](Self::format).
    pub fn plan(&self) -> Result<LayerPlan, AssemblyError> {
        let device = &self.device;
        check_policy(&self.policy)?;
        self.check_regions()?;
        if self.policy.layer == LayerKind::DemandPaged {
            self.demand_paged().check()?;
        }
        let apart = self.policy.read_only_separation || !self.separate.is_empty();
        let policy = &PolicySpec { read_only_separation: apart, ..self.policy.clone() };
        let room = Room::of(device, policy, self.watermarks)?;
        let pages = u64::from(self.logical_pages);
        if pages == 0 {
            let text = format!("device {} leaves no page for data", device.profile.name);
            return Err(AssemblyError::Input(text));
        }
        if pages > room.most_pages {
            return Err(self.too_many(policy, &room));
        }
        let scale = self.time_scale_ns.unwrap_or_else(|| device.time_scale_ns());
        LayerPlan::new(device.clone(), policy.clone(), &room, self.logical_pages, scale, self.seed)
    }

    /// Refuses a policy that keeps more blocks partly programmed than the chip's device allows.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], with the device's limit.
    pub(crate) fn fits_open_blocks(
        &self,
        chip: &(impl Medium + ?Sized),
    ) -> Result<(), AssemblyError> {
        let Some((limit, left)) = chip.most_open_blocks() else { return Ok(()) };
        let geometry = &self.device.profile.geometry;
        let needed = match self.policy.layer {
            // One more is of the index log.
            LayerKind::PageMapped | LayerKind::Dftl => {
                Some(self.policy.open_blocks(geometry) * geometry.banks + 1)
            }
            LayerKind::DemandPaged => Some(4),
            LayerKind::Nftl | LayerKind::InPlace => None,
        };
        if needed.is_some_and(|needed| needed <= left) {
            return Ok(());
        }
        let wants = match needed {
            Some(needed) => format!("policy {} needs {}", self.policy.name, needed + limit - left),
            None => format!("policy {} needs any number of them", self.policy.name),
        };
        Err(AssemblyError::Usage(format!(
            "device {} allows {limit} active zones (max_active_zones), and {wants}: take a policy with fewer \
             streams (‹policy greedy› has 1), or a device that allows more",
            self.device.profile.name
        )))
    }

    /// Why a policy does not fit, and the over-provisioning that it needs.
    fn too_many(&self, policy: &PolicySpec, room: &Room) -> AssemblyError {
        let geometry = &self.device.profile.geometry;
        let size = geometry.page_size;
        let data = u64::from(geometry.data_blocks()) * u64::from(geometry.data_pages_per_block());
        let reserve = room.watermarks.reserve;
        let keeps = match policy.layer {
            LayerKind::PageMapped | LayerKind::Dftl => format!(
                "{} open blocks and a reserve of {reserve} in each of {}",
                policy.open_blocks(geometry),
                if geometry.banks == 1 {
                    "1 bank".into()
                } else {
                    format!("{} banks", geometry.banks)
                },
            ),
            LayerKind::Nftl | LayerKind::InPlace => format!("a reserve of {reserve} blocks"),
            LayerKind::DemandPaged => "its map on the chip, open blocks and free ones".into(),
        };
        // In tenths of a percent, rounded up.
        let least = (data * 1000).div_ceil(room.most_pages.max(1)).saturating_sub(1000);
        AssemblyError::Input(format!(
            "{} do not fit device {}, which can hold {}: policy {} keeps {keeps}. Format it with \
             ‹over-provisioning {}.{}%› or more, or with more ‹capacity›, of which those are a smaller share; \
             or take a policy with fewer open blocks",
            show_pages(self.logical_pages.into(), size),
            self.device.profile.name,
            show_pages(room.most_pages, size),
            policy.name,
            least / 10,
            least % 10,
        ))
    }

    /// Regions are of the page-mapped layer, and on the device.
    fn check_regions(&self) -> Result<(), AssemblyError> {
        let bytes =
            u64::from(self.logical_pages) * u64::from(self.device.profile.geometry.page_size);
        let Some(last) = self.separate.iter().map(|region| region.end).max() else { return Ok(()) };
        if self.policy.layer != LayerKind::PageMapped {
            return Err(AssemblyError::Usage(format!(
                "‹separate›: policy {} keeps no data apart; take one of the page-mapped layer",
                self.policy.name
            )));
        }
        if last > bytes {
            return Err(AssemblyError::Usage(format!(
                "‹separate›: a region ends at byte {last}, and the export has {bytes}"
            )));
        }
        Ok(())
    }

    fn demand_paged(&self) -> demand_paged::Plan<'_> {
        demand_paged::Plan {
            policy: &self.policy,
            geometry: self.device.profile.geometry,
            logical_pages: self.logical_pages,
            map_cache: self.map_cache,
            watermarks: self.watermarks,
        }
    }

    /// Wraps the layer with the read-only regions, if there are any.
    fn told<C: 'static>(&self, inner: AnyLayer<C>) -> AnyLayer<C> {
        if self.separate.is_empty() {
            return inner;
        }
        let size = u64::from(self.device.profile.geometry.page_size);
        let pages = |region: &Range<u64>| {
            // Whole pages; there are at most 2^32.
            region.start.div_ceil(size) as u32..(region.end / size) as u32
        };
        Box::new(Apart { inner, regions: self.separate.iter().map(pages).collect() })
    }

    fn build<C: Chip + Send + 'static>(
        &self,
        chip: C,
        begin: Begin,
    ) -> Result<(AnyLayer<C>, Option<Recovery>), AssemblyError> {
        let plan = self.plan()?;
        let built = match self.policy.layer {
            LayerKind::Nftl => nftl_on_chip(&plan, chip, begin),
            LayerKind::InPlace => in_place_on_chip(&plan, chip, begin),
            LayerKind::DemandPaged => self.demand_paged().build(chip, begin),
            LayerKind::Dftl => unreachable!("a plan of it was refused"),
            LayerKind::PageMapped => {
                plan.with_placement(None, OnChip { plan: &plan, chip, begin })?
            }
        };
        built.map(|(layer, recovery)| (self.told(layer), recovery))
    }
}

/// A server does not know the future.
fn check_policy(policy: &PolicySpec) -> Result<(), AssemblyError> {
    if policy.layer == LayerKind::Dftl {
        return Err(AssemblyError::Usage(format!(
            "policy {} is simulated only; a chip with its map on it has ‹layer demand-paged›",
            policy.name
        )));
    }
    if !policy.sees_future() {
        return Ok(());
    }
    Err(AssemblyError::Usage(format!(
        "policy {} cannot keep data on a chip: it has to know the future; take another one, such as dac",
        policy.name
    )))
}

/// Starts an empty store as a simulation does: with an open block for each stream. A store with data
/// continues without this.
///
/// # Errors
/// [`AssemblyError::Failed`] if the chip fails.
pub fn begin<C>(layer: &mut AnyLayer<C>, now: u64) -> Result<(), AssemblyError> {
    layer.upkeep().filled(now).map_err(|e| AssemblyError::of_layer(e, 0))
}

/// An identifier that no other store has, and the time of day.
///
/// # Errors
/// [`AssemblyError::Failed`] if the system has no random numbers.
pub fn new_format() -> Result<Format, AssemblyError> {
    let mut id = [0; 16];
    fill_randomly(&mut id)?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let created = since.map_or(0, |since| since.as_nanos() as u64);
    Ok(Format { id, created })
}

#[cfg(not(target_family = "wasm"))]
fn fill_randomly(id: &mut [u8]) -> Result<(), AssemblyError> {
    let failed = |e| AssemblyError::Failed(format!("the system has no random numbers: {e}"));
    getrandom::fill(id).map_err(failed)
}

/// A browser has nowhere to keep a store.
#[cfg(target_family = "wasm")]
fn fill_randomly(_: &mut [u8]) -> Result<(), AssemblyError> {
    Err(AssemblyError::Failed("a store cannot be made in a browser".into()))
}

/// How a layer starts on a chip.
pub(crate) enum Begin {
    Format(Format),
    Mount(Mount),
    Salvage(Format),
}

/// Puts NFTL on a chip that holds data.
fn nftl_on_chip<C: Chip + Send + 'static>(
    plan: &LayerPlan,
    chip: C,
    begin: Begin,
) -> Result<(AnyLayer<C>, Option<Recovery>), AssemblyError> {
    let config = plan.nftl()?;
    let (layer, recovery) = match begin {
        Begin::Format(format) => (Nftl::format(chip, config, format)?, None),
        Begin::Salvage(format) => {
            let (layer, recovery) = Nftl::salvage(chip, config, format)?;
            (layer, Some(recovery))
        }
        Begin::Mount(how) => {
            let (layer, recovery) = Nftl::mount(chip, config, how)?;
            (layer, Some(recovery))
        }
    };
    Ok((plan.watched(layer, Boxing)?, recovery))
}

/// Puts updates in place on a chip that holds data.
fn in_place_on_chip<C: Chip + Send + 'static>(
    plan: &LayerPlan,
    chip: C,
    begin: Begin,
) -> Result<(AnyLayer<C>, Option<Recovery>), AssemblyError> {
    let pages = plan.logical_pages;
    let (layer, recovery) = match begin {
        Begin::Format(format) => (InPlace::format(chip, pages, format)?, None),
        Begin::Salvage(format) => {
            let (layer, recovery) = InPlace::salvage(chip, pages, format)?;
            (layer, Some(recovery))
        }
        Begin::Mount(how) => {
            let (layer, recovery) = InPlace::mount(chip, pages, how)?;
            (layer, Some(recovery))
        }
    };
    Ok((plan.watched(layer, Boxing)?, recovery))
}

/// Puts the page-mapped layer on a chip that holds data.
struct OnChip<'a, C> {
    plan: &'a LayerPlan,
    chip: C,
    begin: Begin,
}

impl<C: Chip + Send + 'static> placement::Visitor for OnChip<'_, C> {
    type Output = Result<(AnyLayer<C>, Option<Recovery>), AssemblyError>;

    fn visit<P: Placement + 'static>(self, placement: P) -> Self::Output {
        let Self { plan, chip, begin } = self;
        let (victims, config) = (plan.victims(), plan.page_mapped());
        let (layer, recovery) = match begin {
            Begin::Format(format) => {
                (PageMapped::format(chip, placement, victims, config, format)?, None)
            }
            Begin::Salvage(format) => {
                let (layer, recovery) =
                    PageMapped::salvage(chip, placement, victims, config, format)?;
                (layer, Some(recovery))
            }
            Begin::Mount(how) => {
                let (layer, recovery) = PageMapped::mount(chip, placement, victims, config, how)?;
                (layer, Some(recovery))
            }
        };
        Ok((plan.watched(layer, Boxing)?, recovery))
    }
}

/// Forgets of which kind a layer is.
struct Boxing;

impl<C> LayerVisitor<C> for Boxing {
    type Output = AnyLayer<C>;

    fn visit<L: Layer<Chip = C> + Send + 'static>(self, layer: L) -> AnyLayer<C> {
        Box::new(layer)
    }
}
