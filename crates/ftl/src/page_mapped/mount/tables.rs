//! Builds the tables of the layer from the findings.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Chip, Lpn};
use thermocline_policy::placement::Found;

use super::{pages::Pages, recovery::Recovery};
use crate::{journal::Journal, page_mapped::parts::Parts};

/// Fills the tables of parts whose blocks all count as free. Whether a block was closed that is not
/// full.
pub(super) fn take_tables<C: Chip>(
    parts: &mut Parts<C>,
    journal: &mut Journal,
    pages: &mut Pages,
    recovery: &mut Recovery,
) -> bool {
    let map = core::mem::take(&mut pages.map);
    let (valid, displaced) = parts.tables.recovered(map, pages.blocks.len());
    recovery.pages_found = parts.tables.mapped();
    recovery.lost.extend(displaced);
    recovery.lost.sort_unstable();

    // In the order in which they were opened; blocks of which nothing can be read come first.
    let mut order: Vec<BlockId> = (0..pages.blocks.len() as u32)
        .map(BlockId)
        .filter(|block| pages.blocks[block.index()].programmed > 0)
        .collect();
    order.sort_by_key(|block| (pages.blocks[block.index()].first_sequence, *block));
    let goes_on = choose_open(parts, pages, &order, &valid, recovery.clean);

    for bank in parts.banks.iter_mut() {
        bank.retain_free(|block| pages.blocks[block.index()].programmed == 0);
    }
    let mut closed_early = false;
    for &block in &order {
        let entry = pages.blocks[block.index()];
        recovery.newest_time = recovery.newest_time.max(entry.newest_time);
        take_block(parts, pages, block, valid[block.index()]);
        let full = entry.programmed == parts.tables.shape().pages();
        journal.found(block, entry, full);
        let bank = parts.banks.bank_of(block);
        if goes_on.contains(&block) {
            parts.banks[bank].resume(block, entry.programmed);
        } else {
            parts.banks[bank].close(&mut parts.placement, block);
            closed_early |= !full;
        }
    }
    if parts.placement.hot_pages().is_some() {
        for lpn in (0..parts.tables.len() as u32).map(Lpn) {
            if parts.placement.is_hot(lpn) {
                parts.warm(lpn, 1);
            }
        }
    }
    parts.synced_free.all_synced(&parts.banks);
    closed_early
}

/// A block holds data: enters it into its bank, and its current pages into the placement.
fn take_block<C: Chip>(parts: &mut Parts<C>, pages: &Pages, block: BlockId, valid: u32) {
    let entry = &pages.blocks[block.index()];
    let stream = clamped(parts, entry.stream);
    let bank = parts.banks.bank_of(block);
    let Parts { placement, tables, banks, .. } = parts;
    banks[bank].recovered(placement, (block, stream), valid, entry.newest_time);
    let current: Vec<Lpn> = tables.current_pages(block).collect();
    for lpn in current {
        let time = match pages.times[lpn.index()] {
            0 => entry.newest_time,
            time => time,
        };
        let note = pages.notes[lpn.index()];
        let word = placement.restored(&Found { lpn, stream: entry.stream, note, time });
        tables.set_word(placement.kept(), lpn, word);
    }
}

/// The stream of this layer that a block of some stream belongs to.
fn clamped<C>(parts: &Parts<C>, stream: u8) -> u8 {
    if stream == parts.banks.read_only_stream() && parts.config.read_only_separation {
        return stream;
    }
    stream.min(parts.placement.streams() - 1)
}

/// The blocks that are written on: of each stream in each bank the newest that is not full. After a
/// crash a block without data is closed instead, so that it can be cleaned.
fn choose_open<C>(
    parts: &Parts<C>,
    pages: &Pages,
    order: &[BlockId],
    valid: &[u32],
    clean: bool,
) -> Vec<BlockId> {
    let streams = usize::from(parts.banks.read_only_stream()) + 1;
    let mut newest: Vec<Option<BlockId>> = vec![None; parts.banks.len() * streams];
    for &block in order {
        let entry = &pages.blocks[block.index()];
        let has_data = clean || valid[block.index()] > 0;
        if entry.programmed < parts.tables.shape().pages() && has_data {
            let stream = usize::from(clamped(parts, entry.stream));
            newest[parts.banks.bank_of(block) * streams + stream] = Some(block);
        }
    }
    newest.into_iter().flatten().collect()
}
