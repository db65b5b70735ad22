//! Settings that exclude a write buffer or an SLC cache.

use thermocline_assembly::show_pages;
use thermocline_flash::{SlcCache, WriteBuffer};
use thermocline_policy::preset::LayerKind;
use thermocline_units::format_size;

use crate::{SimError, engine::Driven, job::Job, setup::Setup};

/// Refuses front parts that the layer does not support.
pub(super) fn impossible(
    log: &mut dyn Driven,
    job: &Job<'_>,
    setup: &Setup,
) -> Result<(), SimError> {
    let profile = &setup.plan.device.profile;
    if let Some(buffer) = profile.write_buffer {
        let what = format!("‹write-buffer {}›", format_size(buffer.bytes));
        common(&what, log, job, setup)?;
        size(&what, buffer, log.logical_pages(), profile.geometry.page_size)?;
    }
    if let Some(cache) = profile.slc_cache {
        let SlcCache { size, share, bits } = cache;
        let what = format!("‹slc-cache {}:{}%›", size.name(), share * 100.0);
        common(&what, log, job, setup)?;
        let geometry = &profile.geometry;
        if job.policy.layer != LayerKind::PageMapped || job.map_cache.is_some() {
            return refuse(&what, "it is for policies that map pages in RAM", "take one of these");
        }
        if geometry.banks > 1 {
            let why = "each bank would need its own";
            return refuse(
                &what,
                why,
                "take ‹banks 1›, or ‹superblocks›, which make one of all banks",
            );
        }
        if job.wears_out {
            return refuse(&what, "its blocks are not rated", "leave out ‹wear-out›");
        }
        if job.input.sampled() > 1 {
            return refuse(&what, "a sample does not say what it folds", "leave out ‹sample›");
        }
        if geometry.data_pages_per_block() < bits {
            return refuse(&what, "a block has fewer pages than bits a cell", "take larger blocks");
        }
    }
    Ok(())
}

fn common(what: &str, log: &dyn Driven, job: &Job<'_>, setup: &Setup) -> Result<(), SimError> {
    if job.policy.sees_future() {
        let why = "the oracle knows what the host writes, not what reaches the log";
        return refuse(what, why, "leave out one of them");
    }
    if job.policy.reads_hints() {
        let why = "what leaves it has lost its hint";
        return refuse(what, why, "leave it out, or take a placement without hints");
    }
    if setup.keeps_contents || log.dead_data().is_some() {
        let why =
            "‹dead-data fsaf› reads what the host writes, of which the drive holds no contents";
        return refuse(what, why, "leave out one of them");
    }
    Ok(())
}

fn size(
    what: &str,
    WriteBuffer { bytes, .. }: WriteBuffer,
    logical_pages: u32,
    page_size: u32,
) -> Result<(), SimError> {
    let pages = bytes / u64::from(page_size);
    if pages > 0 && pages < u64::from(logical_pages) {
        return Ok(());
    }
    let why = format!(
        "it would hold {} of the device's {}",
        show_pages(pages, page_size),
        show_pages(logical_pages.into(), page_size)
    );
    refuse(what, &why, "give it at least a page, and fewer than the device has")
}

fn refuse<T>(what: &str, why: &str, remedy: &str) -> Result<T, SimError> {
    Err(SimError::Usage(format!("{what}: {why}; {remedy}")))
}
