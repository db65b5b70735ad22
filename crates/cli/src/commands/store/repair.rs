//! `thermocline repair`: the tables rebuilt from the pages, and a fresh checkpoint.

use serde::Serialize;
use thermocline_flash::{Flash, Lpn, Ppn};
use thermocline_ftl::{Mount, Recovery};
use thermocline_media::Place;
use thermocline_sim::{AnyLayer, PolicySpec, Store};

use super::{
    format,
    reading::{Page, read_all},
};
use crate::{
    args::store::ChipArgs,
    chips::{self, Access, Chip, Found, Headless},
    console::Console,
    exit::Failure,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Pages that are named one by one in the text, of each kind of trouble.
const MOST_NAMED: usize = 100;

/// What was done.
#[derive(Debug, Serialize)]
struct Repaired {
    image: String,
    /// No head of the index log could be read: all that is known comes from other pages.
    headless: bool,
    logical_pages: u32,
    areas_read: u64,
    pages_with_data: u32,
    unreadable_pages: u64,
    /// Logical pages that hold something older than the newest copy, or than the checkpoint said, and
    /// where what they hold now lies.
    rolled_back: Vec<Page>,
    /// Logical pages whose newest copy cannot be read: they stay errors.
    lost: Vec<Page>,
}

/// Repairs, and says what was found.
pub fn run(args: &ChipArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let failed = |e: &dyn std::fmt::Display| chips::failed(format!("{}: {e}", args.chip));
    let before = by_checkpoint(&args.chip);
    let (mut layer, recovery, headless) = rebuild(&args.chip)?;
    layer.inspect().check().map_err(|e| failed(&e))?;
    let rolled_back = rolled_back(&layer, &recovery, before.as_deref());
    let mut lost = Vec::new();
    read_all(&mut layer, &args.chip, console, |page| lost.push(page))?;
    layer.upkeep().unmount(recovery.newest_time.saturating_add(1)).map_err(|e| failed(&e))?;
    layer.chip_mut().sync().map_err(|e| failed(&e))?;
    let repaired = Repaired {
        image: args.chip.to_string(),
        headless,
        logical_pages: layer.logical_pages(),
        areas_read: recovery.areas_read,
        pages_with_data: recovery.pages_found,
        unreadable_pages: recovery.unreadable_pages,
        rolled_back,
        lost,
    };
    if args.json { json::print(&repaired, output) } else { show(&repaired, output) }
}

/// Where pages are by the checkpoint, where one can be mounted by.
fn by_checkpoint(chip: &Place) -> Option<Vec<Ppn>> {
    let access = Access { read_only: true, ..Access::default() };
    let Ok(Found::Whole(opened)) = chips::find(chip, &access) else { return None };
    let (layer, _) = chips::mount(opened, Mount::Quick).ok()?;
    Some((0..layer.logical_pages()).map(|lpn| layer.inspect().locate(Lpn(lpn))).collect())
}

/// The layer as the pages say, and whether that is all there was.
fn rebuild(chip: &Place) -> Result<(AnyLayer<Chip>, Recovery, bool), Failure> {
    let headless = match chips::find(chip, &Access::default())? {
        Found::Whole(opened) => {
            let (layer, recovery) = chips::mount(opened, Mount::FromPages)?;
            return Ok((layer, recovery, false));
        }
        Found::Headless(headless) => headless,
    };
    let Headless { chip, device, traces } = headless;
    let policy = PolicySpec::parse(chips::PLAINEST, None, None)?;
    let store = Store::new(device, policy, traces.logical_pages());
    let (layer, recovery) = store.salvage(chip, format::new_format()?)?;
    Ok((layer, recovery, true))
}

fn rolled_back(layer: &AnyLayer<Chip>, recovery: &Recovery, before: Option<&[Ppn]>) -> Vec<Page> {
    let said = |lpn: u32| before.and_then(|places| places.get(lpn as usize));
    let differs = |lpn: u32| said(lpn).is_some_and(|&at| at != layer.inspect().locate(Lpn(lpn)));
    (0..layer.logical_pages())
        .filter(|&lpn| differs(lpn) || recovery.rolled_back.binary_search(&Lpn(lpn)).is_ok())
        .map(|lpn| Page::of(layer, lpn, layer.inspect().locate(Lpn(lpn))))
        .collect()
}

fn show(repaired: &Repaired, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    pairs.group(&repaired.image);
    pairs.add("logical pages", number::grouped(repaired.logical_pages.into()));
    pairs.add("out-of-band areas read", number::grouped(repaired.areas_read));
    pairs.add("logical pages with data", number::grouped(repaired.pages_with_data.into()));
    pairs.add("pages that cannot be read", number::grouped(repaired.unreadable_pages));
    pairs.add("logical pages rolled back", number::grouped(repaired.rolled_back.len() as u64));
    pairs.add("logical pages lost", number::grouped(repaired.lost.len() as u64));
    let mut text = pairs.finish();
    for (what, pages) in [("rolled back", &repaired.rolled_back), ("lost", &repaired.lost)] {
        for page in pages.iter().take(MOST_NAMED) {
            text += &page.line(what);
        }
        if pages.len() > MOST_NAMED {
            text += &format!("and {} more, which --json lists\n", pages.len() - MOST_NAMED);
        }
    }
    if repaired.headless {
        text +=
            "No head of the index log could be read: pages trimmed long ago may hold data again.\n";
    }
    text += "The tables were rebuilt from the pages; a checkpoint was written.\n";
    output.put_styled(&text)
}
