//! Power fails after every few operations of the chip, many times in a row: no write is refused, no flushed
//! data are lost, and the store works on at once when the power stays on.
//!
//! `THERMOCLINE_LIVES` sets the number of lives in a row.

use thermocline_flash::{Geometry, Lpn, Rules};
use thermocline_ftl::{Format, Mount};
use thermocline_media::{Cut, Faults, Faulty, Ram};
use thermocline_testing::Draws;

use crate::model::{GEOMETRY, Model, PAGES, mount, store};

const RULES: Rules = Rules { in_order: true, endurance: 1 << 30, initial_bad_blocks: 0 };

/// How a row of lives is named where one fails.
type Row = (&'static str, u32, u64, u32);

fn lives(row: Row) -> Result<(), String> {
    let (policy, percent, length, cache) = row;
    let mut store = store(policy);
    let data_blocks = (PAGES * 100).div_ceil(percent * GEOMETRY.pages_per_block);
    let blocks_per_bank = data_blocks + GEOMETRY.system_blocks;
    store.device.profile.geometry = Geometry { blocks_per_bank, ..GEOMETRY };
    // The fewest blocks that it takes, where so few would not do.
    while store.plan().is_err() {
        store.device.profile.geometry.blocks_per_bank += 1;
    }
    let ram = Ram::new(store.device.profile.geometry, RULES);
    let faults = Faults { seed: length, cache, ..Faults::default() };
    let layer = store.format(Faulty::with_faults(ram, faults), Format::default());
    let mut layer = layer.map_err(|e| format!("formatted: {e}"))?;
    let (mut model, mut draws) = (Model::new(), Draws(length << 8 | u64::from(percent)));
    for _ in 0..4 * PAGES {
        model.operate(&mut layer, &mut draws).map_err(|e| format!("filled: {e}"))?;
    }
    model.flush(&mut layer).map_err(|e| format!("filled: {e}"))?;
    let count = std::env::var("THERMOCLINE_LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let mut chip = layer.chip().clone();
    for life in 0..count {
        (layer, _) = mount(&store, chip, Mount::Quick);
        model.recovered(&mut layer);
        let way = [Cut::After, Cut::Torn, Cut::Payload][draws.index(3)];
        layer.chip_mut().cut_after(length, way);
        while layer.chip().is_on() {
            let mut done = model.operate(&mut layer, &mut draws);
            if done.is_ok() && draws.one_in(2) {
                done = model.flush(&mut layer);
            }
            match done {
                Err(e) if layer.chip().is_on() => return Err(format!("life {life}: {e}")),
                _ => {}
            }
        }
        chip = layer.chip().clone();
        if life % 20 == 19 {
            let (mut stays, mut seen) =
                (mount(&store, chip.clone(), Mount::Quick).0, model.clone());
            seen.recovered(&mut stays);
            for lpn in (0..PAGES).map(Lpn) {
                let page = [3; GEOMETRY.page_size as usize];
                let written = stays.write(lpn, &page, 1 << 40);
                written.map_err(|e| format!("the power stays on after life {life}: {e}"))?;
            }
        }
    }
    Ok(())
}

#[test]
fn short_lives_lock_no_store_whose_map_lies_on_it() {
    let mut failed = Vec::new();
    let mut policies = ["greedy", "dac", "hot-cold"].into_iter().cycle();
    for percent in [50, 80, 90, 97] {
        for length in [1, 4, 8, 16, 64] {
            for cache in [0, 20] {
                let policy = policies.next().unwrap_or("greedy");
                let row = (policy, percent, length, cache);
                if let Err(e) = lives(row) {
                    failed.push(format!("{row:?}: {e}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} rows:\n{}", failed.len(), failed.join("\n"));
}
