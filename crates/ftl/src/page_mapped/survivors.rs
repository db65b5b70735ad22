//! Moving the survivors of victims into open blocks.
//!
//! The map follows a copy when it has succeeded; the table of blocks learns of copies in lots, at the
//! latest at the end. Survivors that all go to one stream are moved in runs, as long as the room in an
//! open block: the chip is asked once for each.

use alloc::boxed::Box;

use thermocline_flash::{BlockId, Chip, FlashError, Lpn, Oob};
use thermocline_policy::placement::Placement;

use super::{journal::Journal, opening::open_next, parts::Parts, retire::may_try_again};
use crate::{AHEAD, FtlError};

/// Where survivors come from, and when they are moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) bank: usize,
    /// The victim, or the first of several.
    pub(super) victim: BlockId,
    pub(super) now: u64,
}

/// A survivor at which the loop over all stopped: its stream's block was full, or its copy failed.
struct Stopped {
    lpn: Lpn,
    stream: usize,
    failed: Option<FlashError>,
}

/// Where survivors go.
pub(super) enum Streams<F> {
    /// All to one stream.
    One(u8),
    /// Each to the stream that the placement assigns it.
    Each(F),
}

/// Moves survivors, of a victim and those cleaned with it, each to its stream.
///
/// Pages that cannot be read stay where they are. After an error the rest do, and the caller sees to
/// the counts of the victims.
#[inline(always)]
pub(super) fn move_survivors<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    survivors: &[Lpn],
    from: Source,
    streams: &Streams<impl Fn(&mut P, Lpn) -> u8>,
) -> Result<(), FtlError> {
    parts.banks[from.bank].begin_copying();
    let Parts { chip, tables, .. } = parts;
    chip.expect_copies(&mut survivors.iter().map(|&lpn| tables.entry(lpn)));
    let mut done = 0;
    let mut result = Ok(());
    while done < survivors.len() {
        let stopped = match streams {
            Streams::One(stream) => copy_run(parts, survivors, &mut done, from, *stream),
            Streams::Each(stream_of) => {
                copy_while_room(parts, survivors, &mut done, from, stream_of)
            }
        };
        let Some(stopped) = stopped else { break };
        if let Err(e) = move_alone(parts, journal, from, stopped) {
            parts.counters.copies -= (survivors.len() - done) as u64;
            result = Err(e);
            break;
        }
        done += 1;
    }
    parts.banks[from.bank].count_all_copied(from.victim, from.now);
    result
}

/// Copies survivors from number `done` on to one stream, as long as its open block has room and nothing
/// fails.
#[inline(always)]
fn copy_run<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    survivors: &[Lpn],
    done: &mut usize,
    Source { bank, now, .. }: Source,
    stream: u8,
) -> Option<Stopped> {
    let Parts { chip, placement, tables, banks, durability, .. } = parts;
    let home = &mut banks[bank];
    let s = usize::from(stream);
    let left = &survivors[*done..];
    let (to, count) = home.take_run(s, left.len());
    let run = &left[..count as usize];
    let mut copied = run.len();
    let mut failed = None;
    if count > 0 {
        let before = durability.programs();
        let page = |i: u32| {
            let lpn = run[i as usize];
            let at = tables.entry(lpn);
            debug_assert!(tables.is_owner(lpn, at), "{lpn:?} is copied from {at:?}");
            let sequence = before + u64::from(i) + 1;
            (at, Oob { lpn, stream, sequence, time: now, note: placement.note(lpn) })
        };
        if let Err((done, error)) = chip.copy_run(to.at, count, page) {
            copied = done as usize;
            failed = Some(error);
            // The page whose copy failed stays taken.
            home.untake_all(s, count - done - 1);
        }
        durability.set_programs(before + copied as u64);
        tables.point_run(&run[..copied], to);
        if placement.knows_hot() {
            let hot = run[..copied].iter().filter(|lpn| placement.is_hot(**lpn)).count();
            home.warm(home.open(s).block(), hot as i32);
        }
    }
    *done += copied;
    survivors.get(*done).map(|&lpn| Stopped { lpn, stream: s, failed })
}

/// Copies survivors from number `done` on, as long as their open blocks have room and nothing fails.
///
/// No branch predictor wins on which stream comes next where there are several, so the loop branches
/// only where an open block is full.
#[inline(always)]
fn copy_while_room<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    survivors: &[Lpn],
    done: &mut usize,
    Source { bank, now, .. }: Source,
    stream_of: impl Fn(&mut P, Lpn) -> u8,
) -> Option<Stopped> {
    let Parts { chip, placement, tables, banks, durability, .. } = parts;
    let home = &mut banks[bank];
    for &lpn in survivors.iter().skip(*done).take(AHEAD) {
        placement.prefetch(lpn);
    }
    // Numbered by their place, so that a chip that keeps no numbers costs none.
    let before = durability.programs() - *done as u64;
    let mut stopped = None;
    for (i, &lpn) in survivors.iter().enumerate().skip(*done) {
        if let Some(&next) = survivors.get(i + AHEAD) {
            placement.prefetch(next);
        }
        let stream = stream_of(placement, lpn);
        let Some(to) = home.take_if_room(usize::from(stream)) else {
            stopped = Some(Stopped { lpn, stream: usize::from(stream), failed: None });
            break;
        };
        let at = tables.entry(lpn);
        debug_assert!(tables.is_owner(lpn, at), "{lpn:?} is copied from {at:?}");
        let sequence = before + i as u64 + 1;
        let oob = Oob { lpn, stream, sequence, time: now, note: placement.note(lpn) };
        if let Err(failed) = chip.copy(at, to.at, oob) {
            stopped = Some(Stopped { lpn, stream: usize::from(stream), failed: Some(failed) });
            break;
        }
        tables.point(lpn, to);
        if placement.knows_hot() && placement.is_hot(lpn) {
            home.warm(home.open(usize::from(stream)).block(), 1);
        }
        *done = i + 1;
    }
    durability.set_programs(before + *done as u64);
    stopped
}

/// Moves a survivor whose stream has no room, or whose copy failed, to another block. It stays where it
/// is if it cannot be read.
#[inline(never)]
fn move_alone<C: Chip>(
    parts: &mut Parts<C>,
    journal: &mut Option<Box<Journal>>,
    Source { bank, victim, now }: Source,
    Stopped { lpn, stream, failed }: Stopped,
) -> Result<(), FtlError> {
    if let Some(failed) = failed {
        // Failed programs have their numbers too.
        parts.durability.set_programs(parts.durability.programs() + 1);
        if !may_try_again(parts, bank, stream, failed, Some(victim), now)? {
            return Ok(());
        }
    }
    loop {
        parts.banks[bank].count_copied(stream, victim, now);
        let s = with_room(parts, journal, bank, stream, now)?;
        if s != stream {
            parts.placement.spilt(lpn, s as u8, now);
        }
        let to = parts.banks[bank].take(s);
        let oob = parts.oob(lpn, s as u8, now);
        if let Err(failed) = parts.chip.copy(parts.tables.entry(lpn), to.at, oob) {
            if may_try_again(parts, bank, s, failed, Some(victim), now)? {
                continue;
            }
            return Ok(());
        }
        parts.tables.point(lpn, to);
        if parts.placement.knows_hot() && parts.placement.is_hot(lpn) {
            let home = &mut parts.banks[bank];
            home.warm(home.open(s).block(), 1);
        }
        return Ok(());
    }
}

/// A stream with room for a survivor that belongs to `stream`: itself, or another one for want
/// of a free block.
fn with_room<C: Chip>(
    parts: &mut Parts<C>,
    journal: &mut Option<Box<Journal>>,
    bank: usize,
    stream: usize,
    now: u64,
) -> Result<usize, FtlError> {
    let home = &parts.banks[bank];
    if !home.open(stream).is_full() {
        return Ok(stream);
    }
    if home.free_blocks() > 0 {
        open_next(parts, journal, bank, stream as u8, now)?;
        return Ok(stream);
    }
    parts.counters.spills += 1;
    let open = home.open_blocks();
    open.iter().position(|open| !open.is_full()).ok_or(FtlError::NoSpace)
}
