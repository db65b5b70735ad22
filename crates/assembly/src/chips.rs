//! Finding and opening chips that hold data.

use thermocline_flash::{Flash, Geometry, Profile};
use thermocline_ftl::{
    Mount, Recovery,
    index::{self, Summary, Traces},
};
use thermocline_media::{Faults, Faulty, Medium, OpenChip, OpenedChip, Place};
use thermocline_policy::preset::LayerKind;

use crate::{AnyLayer, AssemblyError, Device, PolicySpec, Store};

/// A chip, whatever medium it is on.
pub type Chip = Box<dyn Medium>;

/// The default policy of a server.
pub const SERVED: &str = "thermocline";

/// The policy of whoever only looks, or formats, as any other can follow: it asks for least room.
pub const PLAINEST: &str = "greedy";

/// The kind of layer that a summary names.
#[must_use]
pub const fn kind_of(layer: u8) -> LayerKind {
    match layer {
        index::NFTL => LayerKind::Nftl,
        index::IN_PLACE => LayerKind::InPlace,
        index::DEMAND_PAGED => LayerKind::DemandPaged,
        _ => LayerKind::PageMapped,
    }
}

/// The default policy of a server for a chip of this kind of layer.
#[must_use]
pub const fn served(layer: LayerKind) -> &'static str {
    match layer {
        LayerKind::PageMapped => SERVED,
        LayerKind::DemandPaged => "dac",
        LayerKind::Nftl | LayerKind::InPlace | LayerKind::Dftl => layer.name(),
    }
}

/// The policy of whoever only looks at a chip of that kind of layer, or formats it.
#[must_use]
pub const fn plainest(layer: LayerKind) -> &'static str {
    match layer {
        LayerKind::PageMapped | LayerKind::DemandPaged => PLAINEST,
        LayerKind::Nftl | LayerKind::InPlace | LayerKind::Dftl => layer.name(),
    }
}

/// A warning for users of this kind of layer.
#[must_use]
pub const fn caution(layer: LayerKind) -> Option<&'static str> {
    match layer {
        LayerKind::PageMapped | LayerKind::Nftl | LayerKind::DemandPaged | LayerKind::Dftl => None,
        LayerKind::InPlace => Some(
            "a baseline, not for data: a power cut or a kill during a write loses the erase block that is \
             being rewritten, flushed data too (it reads as an error then), and the first block that fails \
             makes the chip read-only",
        ),
    }
}

/// The profile whose times stand for those of a device that has none of its own.
const GENERIC: &str = "slc-generic";

/// How to open a chip.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Nothing may be written.
    pub read_only: bool,
    /// Past the system's cache.
    pub direct: bool,
    /// A chip that was cut off is made as long as it was.
    pub lengthen: bool,
    /// Faults that are put in the way.
    pub faults: Option<Faults>,
}

impl Access {
    /// To look, and to change nothing.
    #[must_use]
    pub fn read_only() -> Self {
        Self { read_only: true, ..Self::default() }
    }

    /// Puts faults in the way of a chip, where that is wanted.
    pub(crate) fn with_faults(&self, chip: Chip) -> Chip {
        match &self.faults {
            Some(faults) => Box::new(Faulty::with_faults(chip, faults.clone())),
            None => chip,
        }
    }
}

/// A chip that was formatted, ready to be mounted.
pub struct Opened {
    /// The chip.
    pub chip: Chip,
    /// The device it stands for.
    pub device: Device,
    /// How it was formatted.
    pub summary: Summary,
}

impl Opened {
    /// The kind of its layer.
    #[must_use]
    pub const fn kind(&self) -> LayerKind {
        kind_of(self.summary.layer)
    }

    /// The layer of the chip, mounted without a change to it, for whoever only looks.
    ///
    /// # Errors
    /// Those of [`Store::mount`].
    pub fn mount(self, how: Mount) -> Result<(AnyLayer<Chip>, Recovery), AssemblyError> {
        let policy = plainest(self.kind());
        self.mount_by(policy, how)
    }

    /// The same, by the policy of that name.
    ///
    /// # Errors
    /// Those of [`Store::mount`].
    pub fn mount_by(
        self,
        policy: &str,
        how: Mount,
    ) -> Result<(AnyLayer<Chip>, Recovery), AssemblyError> {
        let policy = PolicySpec::parse(policy, None, None)?.on(self.kind())?;
        Store::new(self.device, policy, self.summary.logical_pages).mount(self.chip, how)
    }
}

/// A chip of which no head of the index log can be read, but pages that a layer wrote.
pub struct Headless {
    /// The chip.
    pub chip: Chip,
    /// The device it stands for.
    pub device: Device,
    /// What its pages show.
    pub traces: Traces,
}

/// A chip that holds something.
pub enum Found {
    /// A chip with a readable summary.
    Whole(Opened),
    /// A chip with nothing but pages.
    Headless(Headless),
}

/// Opens a chip that was formatted.
///
/// # Errors
/// [`AssemblyError`], where it was not, or cannot be opened.
pub fn open(place: &Place, access: &Access) -> Result<Opened, AssemblyError> {
    match find(place, access)? {
        Found::Whole(opened) => Ok(opened),
        Found::Headless(Headless { traces, .. }) => Err(AssemblyError::Input(format!(
            "{place}: no head of its index log can be read, but it holds {} pages of data and {} of the \
             log: do not format it; `thermocline repair {place}` rebuilds it from its pages",
            traces.data_pages, traces.log_pages
        ))),
    }
}

/// Opens a chip that was formatted, or of which there are pages at least.
///
/// # Errors
/// [`AssemblyError`], where there is nothing, or it cannot be opened.
pub fn find(place: &Place, access: &Access) -> Result<Found, AssemblyError> {
    let failed = |e| AssemblyError::failed(place, e);
    let (mut chip, device, keeps_layout) = open_any(place, access)?;
    if let Some(summary) = index::find_summary(&mut *chip).map_err(failed)? {
        return Ok(Found::Whole(Opened { chip, device, summary }));
    }
    let Some(traces) = index::find_traces(&mut *chip).map_err(failed)? else {
        return Err(AssemblyError::Input(format!(
            "{place}: the chip is not formatted; make it so with `thermocline format {place}`"
        )));
    };
    if keeps_layout {
        return Ok(Found::Headless(Headless { chip, device, traces }));
    }
    let geometry = device.profile.geometry;
    let first = traces.first_log_block.map(|first| geometry.blocks() - first.0);
    let system_blocks =
        first.unwrap_or_else(|| index::system_blocks_for(&geometry, traces.logical_pages()));
    drop(chip);
    let (chip, device) = open_with(place, access, system_blocks)?;
    Ok(Found::Headless(Headless { chip, device, traces }))
}

/// Opens a chip, and returns whether its medium stores the layout. If not, the chip's own index log
/// gives the number of log blocks.
fn open_any(place: &Place, access: &Access) -> Result<(Chip, Device, bool), AssemblyError> {
    let mut opened = open_raw(place, access, 0)?;
    if opened.description.is_none()
        && let Ok(Some(summary)) = index::find_summary(&mut *opened.chip)
    {
        drop(opened);
        let (chip, device) = open_with(place, access, summary.system_blocks)?;
        return Ok((chip, device, true));
    }
    let keeps_layout = opened.description.is_some();
    let device = device_of(place, &opened)?;
    Ok((access.with_faults(opened.chip), device, keeps_layout))
}

/// Opens a chip whose medium does not store the number of index log blocks.
pub(crate) fn open_with(
    place: &Place,
    access: &Access,
    system_blocks: u32,
) -> Result<(Chip, Device), AssemblyError> {
    let opened = open_raw(place, access, system_blocks)?;
    let device = device_of(place, &opened)?;
    Ok((access.with_faults(opened.chip), device))
}

fn open_raw(
    place: &Place,
    access: &Access,
    system_blocks: u32,
) -> Result<OpenedChip, AssemblyError> {
    let Access { read_only, direct, lengthen, .. } = *access;
    Ok(place.open(&OpenChip { read_only, direct, lengthen, system_blocks })?)
}

/// The device of a chip, by its medium's description.
pub(crate) fn device_of(place: &Place, opened: &OpenedChip) -> Result<Device, AssemblyError> {
    let geometry = *opened.chip.geometry();
    let Some(description) = &opened.description else { return without_times(place, geometry) };
    let mut profile: Profile = toml::from_str(&description.profile)
        .map_err(|e| AssemblyError::Input(format!("{place}: the profile in its header: {e}")))?;
    (profile.kind, profile.geometry, profile.rules) =
        (description.kind, geometry, description.rules);
    Ok(Device::of_chip(profile))
}

/// A device whose shape the system knows, with the times of [`GENERIC`].
fn without_times(place: &Place, geometry: Geometry) -> Result<Device, AssemblyError> {
    let name = place.path().map_or_else(|| place.to_string(), |path| path.display().to_string());
    let mut profile = Device::load(GENERIC)?.profile;
    profile.summary = format!("{} ({name}), with the times of {GENERIC}", place.medium().summary);
    profile.name = name;
    profile.geometry = geometry;
    Ok(Device::of_chip(profile))
}

/// A profile as it stands in an image: without the sources of its figures, for which there is no room.
///
/// # Errors
/// [`AssemblyError::Broken`], if it cannot be written as TOML.
pub fn profile_text(profile: &Profile) -> Result<String, AssemblyError> {
    let profile = Profile { sources: Vec::new(), ..profile.clone() };
    toml::to_string(&profile).map_err(|e| AssemblyError::Broken(format!("the profile: {e}")))
}
