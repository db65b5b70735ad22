//! DFTL: page mapping with the map on the chip (Gupta, Kim, Urgaonkar, ASPLOS 2009).
//!
//! *Translation pages* hold the map, four bytes an entry. They have blocks of their own and are collected like data. RAM
//! holds the global translation directory, which says where the translation pages are, and the cached mapping table,
//! eight bytes an entry. A look-up that the table does not answer reads a translation page; if the entry that leaves
//! the table was changed, its translation page is read and written first.
//!
//! The paper does not say how large the protected segment of the table is ([`protected`](thermocline_policy::dftl)).
//! Each eviction writes back the one entry that leaves, as later papers read it (TPFTL, EuroSys 2015);
//! `writes=page` writes back all changed entries of the page.

mod layer;
mod placement;
mod table;

use thermocline_assembly::AssemblyError;
use thermocline_flash::CountingChip;
use thermocline_ftl::{Config, Counters, FtlError, PageMapped, TableCounters};
use thermocline_policy::trigger::Pacing;
use thermocline_units::format_size;

use self::{
    layer::Dftl,
    placement::{MapApart, Moved},
    table::Table,
};
use crate::{
    SimError,
    run::{Ran, Runner},
    setup::Setup,
};

/// Bytes of an entry in a translation page, and in the cached mapping table.
const ON_CHIP: u32 = 4;
const IN_TABLE: u64 = 8;

/// Translation pages of a device.
fn translation_pages(setup: &Setup) -> u32 {
    setup.plan.logical_pages.div_ceil(entries(setup))
}

/// Entries of a translation page.
fn entries(setup: &Setup) -> u32 {
    (setup.plan.device.profile.geometry.page_size / ON_CHIP).max(1)
}

/// RAM in bytes: the cached mapping table of `cache` bytes and the global translation directory.
pub(crate) fn ram(setup: &Setup, cache: u64) -> u64 {
    cache + u64::from(ON_CHIP) * u64::from(translation_pages(setup))
}

/// Runs a job with this many bytes of RAM for the cached mapping table.
pub(crate) fn on(
    chip: CountingChip,
    setup: &Setup,
    cache: u64,
    runner: Runner<'_>,
) -> Result<Ran, SimError> {
    let plan = &setup.plan;
    let name = &plan.policy.name;
    let refuse = |what: String| Err(SimError::Usage(what));
    if plan.device.profile.geometry.banks > 1 {
        return refuse(format!("policy {name} is for devices of one bank; give ‹banks 1›"));
    }
    if plan.policy.pacing != Pacing::Off {
        return refuse(format!("policy {name} collects whole victims; leave out ‹pacing›"));
    }
    if plan.policy.idle.is_some() {
        return refuse(format!("policy {name} does nothing in idle time; leave out ‹idle›"));
    }
    let params = plan.policy.build_dftl()?;
    let logical_pages = plan.logical_pages;
    let cached = (cache / IN_TABLE).min(logical_pages.into()) as u32;
    if cached == 0 {
        return refuse(format!(
            "‹map-cache {}› is too small: an entry of the map takes {IN_TABLE} bytes",
            format_size(cache)
        ));
    }
    let map = translation_pages(setup);
    let moved = Moved::default();
    let placement = MapApart { first: logical_pages, moved: moved.clone() };
    let all = logical_pages.checked_add(map).filter(|all| *all < u32::MAX);
    let no_room = || {
        SimError::Input(format!(
            "{logical_pages} logical pages and {map} translation pages do not fit device {}; give it more capacity or \
             more over-provisioning",
            plan.device.profile.name
        ))
    };
    let config = Config { logical_pages: all.ok_or_else(no_room)?, ..plan.page_mapped() };
    let log = PageMapped::new(chip, placement, plan.victims(), config).map_err(|e| match e {
        FtlError::NoSpace => no_room(),
        e => AssemblyError::of_layer(e, 0).into(),
    })?;
    let most_protected = (u64::from(cached) * u64::from(params.protected) / 100) as u32;
    runner.drive(&mut Dftl {
        log,
        table: Table::new(cached, most_protected, logical_pages),
        moved,
        writes: params.writes,
        logical_pages,
        entries: entries(setup),
        did: TableCounters::default(),
        counters: Counters::default(),
        now: 0,
        map_programs: 0,
        map_reads: 0,
    })
}
