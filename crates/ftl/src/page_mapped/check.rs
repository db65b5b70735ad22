//! Recounts everything and compares it with the tables.

use alloc::{format, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Chip, Condition, Flash};
use thermocline_policy::State;

use super::{
    bank::Bank,
    cleaner::Cleaner,
    failures::{Condemned, Why},
    partial::Partial,
    parts::Parts,
};

/// The first disagreement, if any.
pub(super) fn check<C: Chip>(parts: &Parts<C>, cleaner: &Cleaner) -> Result<(), String> {
    let blocks = parts.chip.geometry().blocks() as usize;
    let (mut valid, mut hot) = (vec![0_u32; blocks], vec![0_u32; blocks]);
    let shape = parts.tables.shape();
    parts.tables.check(|lpn, at, is_current| {
        let block = shape.block_of(at);
        let bank = &parts.banks[parts.banks.bank_of(block)];
        let state = bank.block(block).state;
        if is_current {
            valid[block.index()] += 1;
            hot[block.index()] += u32::from(parts.placement.is_hot(lpn));
        } else if matches!(state, State::Free | State::Unusable) {
            return Err(format!("{lpn:?} is marked and lies in {block:?}, {state:?}"));
        }
        if let Some(stream) = bank.stream_of(block)
            && shape.page_of(at) >= bank.open(stream).programmed()
        {
            return Err(format!("{lpn:?} is mapped to {at:?}, which was not programmed"));
        }
        Ok(())
    })?;
    (0..).zip(parts.banks.iter()).try_for_each(|(number, bank)| {
        check_failures(parts, bank, number, cleaner.withdrawn())?;
        check_partial(bank, cleaner.partial(number)).map_err(|e| format!("bank {number}: {e}"))?;
        let lent = cleaner.partial(number).map_or(0, |partial| partial.moved());
        check_bank(parts, bank, &valid, &hot, lent).map_err(|e| format!("bank {number}: {e}"))
    })
}

fn check_bank<C: Chip>(
    parts: &Parts<C>,
    bank: &Bank,
    valid: &[u32],
    hot: &[u32],
    lent: u32,
) -> Result<(), String> {
    let (blocks, mut free, mut live) = (bank.blocks(), 0, 0);
    for block in (0..blocks.len()).map(|n| blocks.nth(n)) {
        let info = blocks.block(block);
        let counted = valid[block.index()];
        live += counted;
        if counted != info.valid {
            return Err(format!("{block:?} has {counted} valid pages, {} counted", info.valid));
        }
        if matches!(info.state, State::Free | State::Unusable) && counted != 0 {
            return Err(format!("{block:?} is {:?} and holds data", info.state));
        }
        if parts.placement.hot_pages().is_some()
            && blocks.hot(block).is_some_and(|n| n != hot[block.index()])
        {
            return Err(format!("{block:?} has not {:?} hot pages", blocks.hot(block)));
        }
        if info.state != State::Unusable && info.erases != parts.chip.erase_count(block) {
            return Err(format!("{block:?}: erase counts of layer and chip differ"));
        }
        free += usize::from(info.state == State::Free);
        let is_open = bank.stream_of(block).is_some();
        if is_open != (info.state == State::Open) {
            return Err(format!("{block:?} is {:?} and {is_open} of open", info.state));
        }
    }
    if live != bank.live() {
        return Err(format!("{live} pages hold current data, {} were counted", bank.live()));
    }
    if free != bank.free_blocks() {
        return Err(format!("{free} blocks are free, {} listed", bank.free_blocks()));
    }
    // The erase of a victim returns the pages of its moved survivors.
    let free = bank.free_pages() + u64::from(lent);
    if !parts.failures.any() && free < parts.banks.reserve_pages() {
        return Err(format!("{free} free pages, fewer than the reserve"));
    }
    Ok(())
}

/// The victim that is cleaned in steps, against the table of blocks.
fn check_partial(bank: &Bank, partial: Option<&Partial>) -> Result<(), String> {
    let blocks = (0..bank.blocks().len()).map(|n| bank.blocks().nth(n));
    let emptying = blocks.filter(|&block| bank.block(block).state == State::Emptying);
    let (known, found) = (partial.map(Partial::block), emptying.collect::<Vec<_>>());
    if found != known.into_iter().collect::<Vec<_>>() {
        return Err(format!("{known:?} is being emptied, and {found:?} is said to be"));
    }
    Ok(())
}

/// The failures on record, against all blocks of a bank.
fn check_failures<C>(
    parts: &Parts<C>,
    bank: &Bank,
    number: usize,
    withdrawn: &[BlockId],
) -> Result<(), String> {
    let condemned = parts.failures.condemned();
    let mut usable = 0;
    for block in (0..bank.blocks().len()).map(|n| bank.blocks().nth(n)) {
        let state = bank.block(block).state;
        let listed = condemned.iter().filter(|c| c.block == block).count();
        if listed != usize::from(state == State::Condemned) {
            return Err(format!("{block:?} is {state:?} and {listed} times condemned"));
        }
        let is_lost = |c: &Condemned| c.why == Why::ProgramFailed || c.waits;
        let lost = condemned.iter().any(|c| c.block == block && is_lost(c));
        let stays = state == State::Unusable && !withdrawn.contains(&block);
        usable += u32::from(!stays && !lost);
    }
    let counted = parts.banks.usable(number);
    if usable != counted {
        return Err(format!("{usable} blocks can be used, {counted} were counted"));
    }
    Ok(())
}
