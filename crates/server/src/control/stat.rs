//! State and counters of a device in use. Fields with the meaning of `stat` on a chip at rest have its
//! names.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Map, Value, json};
use thermocline_flash::{BlockId, Flash};
use thermocline_ftl::Counters;
use thermocline_media::Health;

use crate::{
    counters::Kind,
    device::Device,
    server::{Export, Shared},
    wear::{BLOCKS, Wear},
};

pub(super) fn of(shared: &Shared, export: &Export) -> Result<Value, String> {
    let device = &*export.device;
    let about = device.about();
    let (settings, is_copied) = device.settings();
    let (state, action) = state(shared, device);
    let geometry = device.look(|layer| *layer.chip().geometry());
    let (requests, connections, opened) = export.registry.sum();
    let health = device.look(|layer| layer.chip().health());
    let (wear, banks) = worn(device, geometry.banks, geometry.blocks_per_bank);
    let counters = device.look(|layer| *layer.inspect().counters());
    let answered: Map<String, Value> = Kind::ALL
        .iter()
        .map(|kind| (kind.name().to_owned(), requests.of(*kind).answered.get().into()))
        .collect();
    let live = device.look(|layer| {
        let inspect = layer.inspect();
        json!({
            "pages_with_data": inspect.mapped_pages(),
            "free_blocks": inspect.free_blocks(),
            "spare_blocks": inspect.spare_blocks(),
            "policy_state": inspect.report().into_iter().map(|(name, what)| (name.to_owned(), what.into())).collect::<Map<_, _>>(),
            "choices": inspect.choices().into_iter().map(|(rule, n)| (rule.to_owned(), n.into())).collect::<Map<_, _>>(),
        })
    });
    let mut all = json!({
        "image": about.image,
        "device": about.device,
        "id": about.id,
        "format_version": about.format_version,
        "layer": about.layer,
        "state": state,
        "action": action,
        "served": true,
        "export": device.name(),
        "read_only": device.is_read_only(),
        "settings": settings,
        "exported_bytes": device.size(),
        "logical_pages": device.size() / u64::from(device.page_size()),
        "page_size": device.page_size(),
        "blocks": geometry.blocks(),
        "index_blocks": geometry.system_blocks,
        "bad_blocks": health.bad_blocks,
        "wear": { "mean": wear.mean(), "min": wear.min, "max": wear.max, "endurance": about.endurance },
        "banks": banks,
        "since_mount": done(&counters),
        "health": self::health(&health, &counters),
        "clients": { "connections": connections, "opened": opened, "requests": answered },
        "copying": is_copied,
        "draining": shared.draining.load(Relaxed),
    });
    if let (Some(all), Value::Object(live)) = (all.as_object_mut(), live) {
        all.extend(live);
    }
    Ok(all)
}

/// The state and its remedy.
pub(crate) fn state(shared: &Shared, device: &Device) -> (String, &'static str) {
    match device.ailment() {
        Some(why) => (why, "see the log; `docs/operations.md` says what to do"),
        None if shared.draining.load(Relaxed) => {
            ("served, and draining".into(), "none: it stops when the last client has left")
        }
        None if let [first, ..] = &device.ailments()[..] => (
            format!("served, and damaged: {first}"),
            "stop it, and run `thermocline check`, then `thermocline repair`",
        ),
        None => ("served".into(), "none; `thermocline check` reads and verifies all data"),
    }
}

/// Failures of the chip since the mount.
pub(crate) fn health(health: &Health, counters: &Counters) -> Value {
    json!({
        "corrected_reads": health.corrected_reads,
        "failed_reads": health.failed_reads,
        "failed_programs": counters.programs_failed.max(health.failed_programs),
        "failed_erases": counters.erases_failed.max(health.failed_erases),
        "syncs": health.syncs,
    })
}

/// Counters of the layer since the mount.
pub(crate) fn done(c: &Counters) -> Value {
    json!({
        "host_pages_written": c.host_writes,
        "host_pages_read": c.host_reads,
        "host_pages_trimmed": c.trims,
        "flash_pages_programmed": c.host_writes + c.fills + c.copies,
        "flash_pages_copied": c.copies,
        "index_pages_programmed": c.index_programs,
        "flash_blocks_erased": c.erases,
        "cleaning_runs": c.cleaning_runs,
        "cleaning_victims": c.victims,
        "victims_valid_pages": c.victims_valid,
        "cleaning_victims_idle": c.idle_victims,
        "pages_spilled": c.spills,
        "swap_erases": c.swap_erases,
        "swap_copies": c.swap_copies,
        "blocks_scrubbed": c.scrubbed,
        "pages_lost": c.pages_lost,
        "write_amplification": (c.host_writes > 0)
            .then(|| (c.host_writes + c.copies) as f64 / c.host_writes as f64),
    })
}

/// Wear of the chip and of each bank; the device is in hand for a few thousand blocks at a time only.
fn worn(device: &Device, banks: u32, blocks_per_bank: u32) -> (Wear, Vec<Value>) {
    let mut all = Wear::none();
    let states = device.look(|layer| layer.inspect().banks());
    let mut shown = Vec::new();
    for bank in 0..banks {
        let mut wear = Wear::none();
        let (mut first, end) = (bank * blocks_per_bank, (bank + 1) * blocks_per_bank);
        while first < end {
            let stop = end.min(first + BLOCKS);
            device.look(|layer| {
                for block in (first..stop).map(BlockId).filter(|&b| !layer.chip().is_bad(b)) {
                    let erases = layer.inspect().erases(block);
                    wear.add(erases);
                    all.add(erases);
                }
            });
            first = stop;
        }
        let wear = wear.ended();
        let state = states.get(bank as usize).copied().unwrap_or_default();
        shown.push(json!({
            "free_blocks": state.free_blocks,
            "current_pages": state.current_pages,
            "erases": state.erases,
            "read_only_blocks": state.read_only_blocks,
            "read_only_pages": state.read_only_pages,
            "wear": { "mean": wear.mean(), "min": wear.min, "max": wear.max },
        }));
    }
    (all.ended(), shown)
}
