//! `thermocline format`: a chip, and an empty store on it.

use std::{path::Path, time::SystemTime};

use serde::Serialize;
use thermocline_flash::Flash;
use thermocline_ftl::{Format, index};
use thermocline_media::{
    Mtd, MtdOptions, Place,
    image::{self, Damage, ImageError},
};
use thermocline_sim::{Device, PolicySpec, SimError, Store, units};
use thermocline_trace::generate::format_size;

use super::stat;
use crate::{
    args::store::FormatArgs,
    chips::{self, Chip},
    exit::Failure,
    jobs,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Formats, and says what came of it.
pub fn run(args: &FormatArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let made = match &args.chip {
        Place::Ram => {
            return Err(Failure::usage(
                "`ram:` is gone when the program ends; `thermocline serve ram:` formats one itself",
            ));
        }
        Place::Image(path) => {
            let (store, options) = plan_image(args)?;
            let image = image::Image::create(path, &options).map_err(refused)?;
            let made = write(&store, Box::new(image), &args.chip);
            if made.is_err() && !args.force {
                // Half a store is no use to anybody; why it is half is told.
                let _ = std::fs::remove_file(path);
            }
            made?
        }
        Place::Mtd(path) => {
            let (store, chip) = open_mtd(path, args)?;
            write(&store, chip, &args.chip)?
        }
    };
    let spare_blocks = chips::as_served(&args.chip)?.map(|served| served.spare_blocks);
    let made = Made { spare_blocks, ..made };
    if args.json { json::print(&made, output) } else { show(&made, output) }
}

/// Why there is no new image, by whose fault it is.
fn refused(error: ImageError) -> Failure {
    let path = error.path.display();
    match error.what {
        Damage::Exists if error.path.is_dir() => {
            Failure::usage(format!("{path}: is a folder; name a file in it"))
        }
        Damage::Exists => Failure::usage(format!(
            "{path}: exists already; name another file, or replace it with --force: what it holds is \
             lost then"
        )),
        Damage::System { .. } | Damage::Preallocate(_) | Damage::InUse(_) => chips::failed(error),
        _ => chips::input(error),
    }
}

/// What was made.
#[derive(Debug, Serialize)]
struct Made {
    image: String,
    device: String,
    exported_bytes: u64,
    logical_pages: u32,
    page_size: u32,
    chip_bytes: u64,
    blocks: u32,
    index_blocks: u32,
    bad_blocks: u32,
    /// Blocks that may fail before the chip takes no more writes, with the policy that `serve` takes by
    /// default; none where that policy does not fit.
    spare_blocks: Option<u32>,
}

fn show(made: &Made, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    pairs.group(&made.image);
    pairs.add("device", made.device.clone());
    pairs.add("exported", units::show_size(made.exported_bytes));
    pairs.add("chip", units::show_size(made.chip_bytes));
    pairs.add("logical pages", number::grouped(made.logical_pages.into()));
    pairs.add("page", units::show_size(made.page_size.into()));
    pairs.add("erase blocks", number::grouped(made.blocks.into()));
    pairs.add("of these, index log", made.index_blocks.to_string());
    pairs.add("bad", made.bad_blocks.to_string());
    pairs.add("may fail before read-only", stat::spare_text(made.spare_blocks));
    output.put_styled(&pairs.finish())
}

/// The store that fits a device, and the image it stands in.
fn plan_image(args: &FormatArgs) -> Result<(Store, image::Options), Failure> {
    let device = jobs::device(&args.shape)?;
    let store =
        fit(device, args.over_provisioning, PolicySpec::parse(chips::PLAINEST, None, None)?)?;
    let profile = &store.device.profile;
    let options = image::Options {
        kind: profile.kind,
        geometry: profile.geometry,
        rules: profile.rules,
        profile: chips::profile_text(profile)?,
        bad_blocks: Vec::new(),
        preallocate: args.preallocate,
        replace: args.force,
    };
    Ok((store, options))
}

/// A store of a policy on a device, whose last blocks become the index log's.
pub fn fit(device: Device, over: f64, policy: PolicySpec) -> Result<Store, Failure> {
    let refused = match try_fit(device.clone(), over, policy.clone()) {
        Ok(store) => return Ok(store),
        Err(refused) => refused,
    };
    // What no size helps against has a reason of its own.
    let Some(least) = least_capacity(&device, over, &policy) else { return Err(refused) };
    Err(chips::input(format!(
        "device {} of {} is too small for a store with {}% over-provisioning; it takes --capacity {} at \
         least, or more --over-provisioning",
        device.profile.name,
        format_size(device.profile.geometry.capacity()),
        over * 100.0,
        format_size(least)
    )))
}

/// Bytes of the smallest chip of a device's kind, larger than it, that a store fits.
fn least_capacity(device: &Device, over: f64, policy: &PolicySpec) -> Option<u64> {
    let of = |blocks_per_bank: u32| {
        let mut device = device.clone();
        device.profile.geometry.blocks_per_bank = blocks_per_bank;
        device
    };
    let fits = |blocks: u32| try_fit(of(blocks), over, policy.clone()).is_ok();
    let mut small = device.profile.geometry.blocks_per_bank;
    let doubled = std::iter::successors(small.checked_mul(2), |blocks| blocks.checked_mul(2));
    let mut large =
        doubled.take_while(|blocks| *blocks <= MOST_BLOCKS).find(|blocks| fits(*blocks))?;
    while large - small > 1 {
        let middle = small.midpoint(large);
        *(if fits(middle) { &mut large } else { &mut small }) = middle;
    }
    Some(of(large).profile.geometry.capacity())
}

/// Blocks of a bank beyond which nobody looks for room.
const MOST_BLOCKS: u32 = 1 << 20;

fn try_fit(mut device: Device, over: f64, policy: PolicySpec) -> Result<Store, Failure> {
    let geometry = &mut device.profile.geometry;
    geometry.system_blocks = 0;
    let whole = *geometry;
    let needed = index::system_blocks_for(&whole, device.exported_pages(over));
    if needed >= whole.blocks() {
        return Err(SimError::Input(format!(
            "device {} has {} blocks, and the index log alone needs {needed}; give it more --capacity, \
             or smaller blocks",
            device.profile.name,
            whole.blocks()
        ))
        .into());
    }
    device.profile.geometry.system_blocks = needed;
    let logical_pages = device.exported_pages(over);
    let store = Store::new(chips::fixed(device.profile), policy, logical_pages);
    store.check()?;
    Ok(store)
}

fn open_mtd(path: &Path, args: &FormatArgs) -> Result<(Store, Chip), Failure> {
    let mut mtd = Mtd::open(path, &MtdOptions::default()).map_err(chips::input)?;
    if !args.force && holds_something(&mut mtd) {
        return Err(Failure::usage(format!(
            "{}: is formatted already, or holds what a layer wrote; --force formats it anew, and what it \
             holds is lost",
            path.display()
        )));
    }
    let device = chips::fixed(chips::of_mtd(path, *mtd.geometry())?);
    let store =
        fit(device, args.over_provisioning, PolicySpec::parse(chips::PLAINEST, None, None)?)?;
    drop(mtd);
    let system_blocks = store.device.profile.geometry.system_blocks;
    let options = MtdOptions { system_blocks, ..MtdOptions::default() };
    Ok((store, Box::new(Mtd::open(path, &options).map_err(chips::input)?)))
}

/// Whether a chip is formatted, or was and has lost the heads of its log.
fn holds_something(mtd: &mut Mtd) -> bool {
    matches!(index::find_summary(mtd), Ok(Some(_)))
        || matches!(index::find_traces(mtd), Ok(Some(_)))
}

/// What no other chip is formatted as.
pub fn new_format() -> Result<Format, Failure> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let created = since.map_or(0, |since| since.as_nanos() as u64);
    let mut id = [0; 16];
    getrandom::fill(&mut id)
        .map_err(|e| SimError::Failed(format!("the system has no random numbers: {e}")))?;
    Ok(Format { id, created })
}

fn write(store: &Store, chip: Chip, name: &Place) -> Result<Made, Failure> {
    let failed = |e: &dyn std::fmt::Display| SimError::Failed(format!("{name}: {e}"));
    let mut layer = store.format(chip, new_format()?)?;
    layer.upkeep().unmount(0).map_err(|e| failed(&e))?;
    let chip = layer.chip_mut();
    chip.sync().map_err(|e| failed(&e))?;
    let geometry = *chip.geometry();
    Ok(Made {
        image: name.to_string(),
        device: store.device.profile.name.clone(),
        exported_bytes: u64::from(store.logical_pages) * u64::from(geometry.page_size),
        logical_pages: store.logical_pages,
        page_size: geometry.page_size,
        chip_bytes: geometry.capacity(),
        blocks: geometry.blocks(),
        index_blocks: geometry.system_blocks,
        bad_blocks: chip.health().bad_blocks,
        spare_blocks: None,
    })
}
