//! Moving the survivors of victims into open blocks.
//!
//! The map follows a copy when it has succeeded; the table of blocks learns of copies in lots, at the
//! latest at the end. Survivors of one stream are moved in runs, as long as the room in an open block: the
//! chip is asked once for each.

use alloc::{boxed::Box, vec::Vec};

use thermocline_flash::{BlockId, Chip, FlashError, Lpn, Oob};
use thermocline_policy::placement::Placement;

use super::{
    bank::Bank, journal::Journal, opening::open_next, parts::Parts, retire::may_try_again,
};
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
#[derive(Clone, Copy, Debug)]
pub(super) enum Streams {
    /// All to one stream.
    One(u8),
    /// Each to the stream that the placement assigns it.
    Each,
}

/// Survivors whose streams are told at once.
const AT_ONCE: usize = 64;

/// Sorts survivors by the streams that they go to.
pub(super) struct Sorter {
    /// The stream of each survivor, in physical order.
    streams: Vec<u8>,
    /// The survivors by stream, and within a stream in physical order.
    sorted: Vec<Lpn>,
    /// Where those of each stream begin in that; once they are there, where they end.
    ends: Box<[usize; STREAMS]>,
}

/// As many streams as their numbers can tell apart: an index by one needs no check.
const STREAMS: usize = 256;

impl Sorter {
    /// For survivors of blocks of so many pages.
    pub(super) fn new(pages: u32) -> Self {
        let pages = pages as usize;
        Self {
            streams: Vec::with_capacity(pages),
            sorted: Vec::with_capacity(pages),
            ends: Box::new([0; STREAMS]),
        }
    }

    /// Assigns streams to survivors as long as their open blocks have room. Returns how many, and the stream
    /// of the one after them, which finds none.
    #[inline(always)]
    fn assign<P: Placement>(
        &mut self,
        placement: &mut P,
        home: &Bank,
        survivors: &[Lpn],
        now: u64,
    ) -> (usize, Option<u8>) {
        let mut room = [0_u32; STREAMS];
        for (room, open) in room.iter_mut().zip(home.open_blocks()) {
            *room = open.room();
        }
        self.streams.clear();
        self.streams.resize(survivors.len(), 0);
        let (count, full) = if placement.tells_at_once() {
            self.assign_at_once(placement, &mut room, survivors, now)
        } else {
            self.assign_each(placement, &mut room, survivors, now)
        };
        let mut end = 0;
        for ((start, open), left) in self.ends.iter_mut().zip(home.open_blocks()).zip(&room) {
            *start = end;
            end += (open.room() - left) as usize;
        }
        self.streams.truncate(count);
        (count, full)
    }

    /// Asks about one after another.
    #[inline(always)]
    fn assign_each<P: Placement>(
        &mut self,
        placement: &mut P,
        room: &mut [u32; STREAMS],
        survivors: &[Lpn],
        now: u64,
    ) -> (usize, Option<u8>) {
        for &lpn in &survivors[..AHEAD.min(survivors.len())] {
            placement.prefetch(lpn);
        }
        for (i, (&lpn, assigned)) in survivors.iter().zip(&mut self.streams).enumerate() {
            if let Some(&next) = survivors.get(i + AHEAD) {
                placement.prefetch(next);
            }
            let stream = placement.survivor(lpn, now);
            let room = &mut room[usize::from(stream)];
            if *room == 0 {
                return (i, Some(stream));
            }
            *room -= 1;
            *assigned = stream;
        }
        (survivors.len(), None)
    }

    /// Asks about several at once.
    #[inline(always)]
    fn assign_at_once<P: Placement>(
        &mut self,
        placement: &mut P,
        room: &mut [u32; STREAMS],
        survivors: &[Lpn],
        now: u64,
    ) -> (usize, Option<u8>) {
        let mut start = 0;
        for (asked, streams) in survivors.chunks(AT_ONCE).zip(self.streams.chunks_mut(AT_ONCE)) {
            placement.survivors(asked, streams, now);
            for (i, &stream) in streams.iter().enumerate() {
                let room = &mut room[usize::from(stream)];
                if *room == 0 {
                    placement.placed(i + 1);
                    return (start + i, Some(stream));
                }
                *room -= 1;
            }
            placement.placed(asked.len());
            start += asked.len();
        }
        (start, None)
    }

    /// Sorts the survivors that were assigned; then [`ends`](Self::ends) are where those of each stream end.
    ///
    /// No branch predictor wins on which stream comes next, so there is no branch on it.
    fn sort(&mut self, survivors: &[Lpn]) {
        self.sorted.resize(survivors.len(), Lpn(0));
        for (&stream, &lpn) in self.streams.iter().zip(survivors) {
            let end = &mut self.ends[usize::from(stream)];
            self.sorted[*end] = lpn;
            *end += 1;
        }
    }
}

/// Moves survivors, of a victim and those cleaned with it, each to its stream.
///
/// Pages that cannot be read stay where they are. After an error the rest do, and the caller sees to
/// the counts of the victims.
#[inline(always)]
pub(super) fn move_survivors<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    sorter: &mut Sorter,
    survivors: &[Lpn],
    from: Source,
    streams: Streams,
) -> Result<(), FtlError> {
    parts.banks[from.bank].begin_copying();
    let Parts { chip, tables, .. } = parts;
    chip.expect_copies(&mut survivors.iter().map(|&lpn| tables.entry(lpn)));
    let mut moved = 0;
    let result = match streams {
        Streams::One(stream) => move_to_one(parts, journal, survivors, &mut moved, from, stream),
        Streams::Each => move_to_each(parts, journal, sorter, survivors, &mut moved, from),
    };
    if result.is_err() {
        parts.counters.copies -= (survivors.len() - moved) as u64;
    }
    parts.banks[from.bank].count_all_copied(from.victim, from.now);
    result
}

/// Moves survivors each to its stream: as many as find room in the open blocks, then the one that finds
/// none, and so on. Adds how many were moved.
#[inline(always)]
fn move_to_each<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    sorter: &mut Sorter,
    survivors: &[Lpn],
    moved: &mut usize,
    from: Source,
) -> Result<(), FtlError> {
    let mut left = survivors;
    while !left.is_empty() {
        let Parts { placement, banks, .. } = &mut *parts;
        let home = &banks[from.bank];
        let streams = home.open_blocks().len();
        let (count, full) = sorter.assign(placement, home, left, from.now);
        sorter.sort(&left[..count]);
        let mut start = 0;
        for (stream, &end) in (0..).zip(&sorter.ends[..streams]) {
            if start < end {
                let pages = &sorter.sorted[start..end];
                move_to_one(parts, journal, pages, moved, from, stream)?;
            }
            start = end;
        }
        left = &left[count..];
        if let (Some(stream), Some((&lpn, rest))) = (full, left.split_first()) {
            let stopped = Stopped { lpn, stream: usize::from(stream), failed: None };
            move_alone(parts, journal, from, stopped)?;
            *moved += 1;
            left = rest;
        }
    }
    Ok(())
}

/// Moves survivors to one stream. Adds how many were moved.
#[inline(always)]
fn move_to_one<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    survivors: &[Lpn],
    moved: &mut usize,
    from: Source,
    stream: u8,
) -> Result<(), FtlError> {
    let mut done = 0;
    while done < survivors.len() {
        let before = done;
        let stopped = copy_run(parts, survivors, &mut done, from, stream);
        *moved += done - before;
        let Some(stopped) = stopped else { break };
        move_alone(parts, journal, from, stopped)?;
        done += 1;
        *moved += 1;
    }
    Ok(())
}

/// Copies survivors from number `done` on to one stream, as long as its open block has room and nothing
/// fails.
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
