//! Opening chips that hold data, and what is known of them.

use std::path::Path;

use thermocline_flash::{Geometry, Profile};
use thermocline_ftl::{
    Mount, Recovery,
    index::{self, Summary, Traces},
};
use thermocline_media::{Faults, Faulty, Medium, Mtd, MtdOptions, Place, image};
use thermocline_sim::{AnyLayer, Device, PolicySpec, SimError, Store};

use crate::exit::Failure;

/// A chip, whatever kind it is of.
pub type Chip = Box<dyn Medium>;

/// How a chip is to be opened.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Nothing may be written.
    pub read_only: bool,
    /// Past the system's cache.
    pub direct: bool,
    /// Faults that are put in the way.
    pub faults: Option<Faults>,
}

/// A chip that was formatted, ready to be mounted.
pub struct Opened {
    /// The chip.
    pub chip: Chip,
    /// The device it stands for.
    pub device: Device,
    /// What it was formatted as.
    pub summary: Summary,
}

/// A chip of which no head of the index log can be read, but pages that a layer wrote.
pub struct Headless {
    /// The chip.
    pub chip: Chip,
    /// The device it stands for.
    pub device: Device,
    /// What was found on it.
    pub traces: Traces,
}

/// What there is to be repaired.
pub enum Found {
    /// The chip tells what it was formatted as.
    Whole(Opened),
    /// Only its pages are there.
    Headless(Headless),
}

/// Opens a chip that was formatted.
pub fn open(what: &Place, access: &Access) -> Result<Opened, Failure> {
    match find(what, access)? {
        Found::Whole(opened) => Ok(opened),
        Found::Headless(Headless { traces, .. }) => Err(input(format!(
            "{what}: no head of its index log can be read, but it holds {} pages of data and {} of the \
             log: do not format it; `thermocline repair {what}` rebuilds it from its pages",
            traces.data_pages, traces.log_pages
        ))),
    }
}

/// Opens a chip that was formatted, or of which there are pages at least.
pub fn find(what: &Place, access: &Access) -> Result<Found, Failure> {
    let of_chip = |e| failed(format!("{what}: {e}"));
    let (mut chip, profile) = open_any(what, access, None)?;
    if let Some(summary) = index::find_summary(&mut *chip).map_err(of_chip)? {
        return Ok(Found::Whole(Opened { chip, device: fixed(profile), summary }));
    }
    let Some(traces) = index::find_traces(&mut *chip).map_err(of_chip)? else {
        return Err(input(format!(
            "{what}: the chip is not formatted; make it so with `thermocline format {what}`"
        )));
    };
    let geometry = profile.geometry;
    if geometry.system_blocks > 0 {
        return Ok(Found::Headless(Headless { chip, device: fixed(profile), traces }));
    }
    // Raw NAND does not tell where its log begins.
    let first = traces.first_log_block.map(|first| geometry.blocks() - first.0);
    let system_blocks =
        first.unwrap_or_else(|| index::system_blocks_for(&geometry, traces.logical_pages()));
    drop(chip);
    let (chip, profile) = open_any(what, access, Some(system_blocks))?;
    Ok(Found::Headless(Headless { chip, device: fixed(profile), traces }))
}

fn open_any(
    what: &Place,
    access: &Access,
    system_blocks: Option<u32>,
) -> Result<(Chip, Profile), Failure> {
    match what {
        Place::Ram => {
            Err(Failure::usage("`ram:` is gone when the program ends; name an image file"))
        }
        Place::Image(path) => open_image(path, access),
        Place::Mtd(path) => open_mtd(path, access, system_blocks),
    }
}

/// A device whose blocks are those of a chip.
pub fn fixed(profile: Profile) -> Device {
    Device { profile, fixed_capacity: true }
}

fn open_image(path: &Path, access: &Access) -> Result<(Chip, Profile), Failure> {
    let how = image::Open {
        read_only: access.read_only,
        direct: access.direct,
        ..image::Open::default()
    };
    let image = image::Image::open(path, how).map_err(input)?;
    let header = image.header();
    let mut profile: Profile = toml::from_str(&header.profile).map_err(|e| {
        SimError::Input(format!("{}: the profile in its header: {e}", path.display()))
    })?;
    (profile.kind, profile.geometry, profile.rules) = (header.kind, header.geometry, header.rules);
    Ok((with_faults(image, access), profile))
}

fn open_mtd(
    path: &Path,
    access: &Access,
    system_blocks: Option<u32>,
) -> Result<(Chip, Profile), Failure> {
    let mut options = MtdOptions { read_only: access.read_only, ..MtdOptions::default() };
    options.system_blocks = system_blocks.unwrap_or(options.system_blocks);
    let mut mtd = Mtd::open(path, &options).map_err(input)?;
    if let Ok(Some(summary)) = index::find_summary(&mut mtd) {
        let options = MtdOptions { system_blocks: summary.system_blocks, ..options };
        drop(mtd);
        mtd = Mtd::open(path, &options).map_err(input)?;
    }
    let profile = of_mtd(path, *thermocline_flash::Flash::geometry(&mtd))?;
    Ok((with_faults(mtd, access), profile))
}

/// A profile for a raw NAND device, of which the driver tells the shape but not the times: those are of
/// [`MTD_TIMES`].
pub fn of_mtd(path: &Path, geometry: Geometry) -> Result<Profile, Failure> {
    let mut profile = Device::load(MTD_TIMES)?.profile;
    profile.name = path.display().to_string();
    profile.summary = format!("raw NAND device {}, with the times of {MTD_TIMES}", path.display());
    profile.geometry = geometry;
    Ok(profile)
}

/// The profile whose times stand for those of a raw NAND device.
const MTD_TIMES: &str = "slc-generic";

/// Puts faults in the way, where that is wanted.
pub fn with_faults<M: Medium + 'static>(chip: M, access: &Access) -> Chip {
    match &access.faults {
        Some(faults) => Box::new(Faulty::with_faults(chip, faults.clone())),
        None => Box::new(chip),
    }
}

/// Something is wrong with what was given.
pub fn input(error: impl std::fmt::Display) -> Failure {
    SimError::Input(error.to_string()).into()
}

/// Something that was to be done could not be.
pub fn failed(error: impl std::fmt::Display) -> Failure {
    SimError::Failed(error.to_string()).into()
}

/// A profile as it stands in an image: without the sources of its figures, for which there is no room.
pub fn profile_text(profile: &Profile) -> Result<String, Failure> {
    let profile = Profile { sources: Vec::new(), ..profile.clone() };
    toml::to_string(&profile).map_err(|e| SimError::Broken(format!("the profile: {e}")).into())
}

/// The policy that chips are served with where nothing is said of it.
pub const SERVED: &str = "dac";

/// The policy of whoever only looks, or formats, as any other can follow: it asks for least room.
pub const PLAINEST: &str = "greedy";

/// The layer of a chip, mounted without a change to it, for whoever only looks.
pub fn mount(opened: Opened, how: Mount) -> Result<(AnyLayer<Chip>, Recovery), Failure> {
    mount_by(opened, PLAINEST, how)
}

/// The same, by the policy of that name.
pub fn mount_by(
    opened: Opened,
    policy: &str,
    how: Mount,
) -> Result<(AnyLayer<Chip>, Recovery), Failure> {
    let policy = PolicySpec::parse(policy, None, None)?;
    let store = Store::new(opened.device, policy, opened.summary.logical_pages);
    Ok(store.mount(opened.chip, how)?)
}

/// How a chip would do, served as by default.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// It takes no more writes.
    pub is_over: bool,
    /// Blocks that may fail before that.
    pub spare_blocks: u32,
}

/// How a chip would do, served as by default; none where that policy does not fit on it.
pub fn as_served(what: &Place) -> Result<Option<Served>, Failure> {
    let access = Access { read_only: true, ..Access::default() };
    let mounted = mount_by(open(what, &access)?, SERVED, Mount::Quick);
    Ok(mounted.ok().map(|(layer, _)| Served {
        is_over: layer.inspect().is_read_only(),
        spare_blocks: layer.inspect().spare_blocks().unwrap_or(0),
    }))
}
