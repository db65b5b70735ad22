//! Moving the survivors of victims into open blocks.
//!
//! The map follows a copy when it has succeeded; the table of blocks learns of copies in lots, at the
//! latest at the end. Survivors of one stream are moved in runs, as long as the room in an open block: the
//! chip is asked once for each.

use alloc::{boxed::Box, vec::Vec};

use thermocline_flash::{BlockId, Chip, Flash, FlashError, Lpn, Oob};
use thermocline_policy::placement::{self, Answer, PageState, Placement};

use super::{bank::Bank, opening::open_next, parts::Parts, retire::may_try_again, worded::Worded};
use crate::{AHEAD, FtlError};

/// Where survivors come from, and when they are moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) bank: usize,
    /// The victim, or the first of several.
    pub(super) victim: BlockId,
    pub(super) now: u64,
}

/// Survivors, and their words, where the placement has any kept.
pub(super) struct Survivors<'a> {
    pub(super) lpns: &'a [Lpn],
    pub(super) words: &'a mut [u64],
}

/// Survivors of one stream, and their words.
#[derive(Clone, Copy)]
struct Run<'a> {
    lpns: &'a [Lpn],
    words: &'a [u64],
}

impl<'a> Run<'a> {
    /// Survivors from one on, up to another.
    #[inline(always)]
    fn of(lpns: &'a [Lpn], words: &'a [u64], start: usize, end: usize) -> Self {
        Self { lpns: &lpns[start..end], words: words.get(start..end).unwrap_or(&[]) }
    }

    #[inline(always)]
    fn word(&self, i: usize) -> u64 {
        self.words.get(i).copied().unwrap_or(0)
    }
}

/// A survivor at which the loop over all stopped: its stream's block was full, or its copy failed.
struct Stopped {
    lpn: Lpn,
    word: u64,
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

/// Sorts survivors by the streams that they go to.
pub(super) struct Sorter {
    /// Whether the placement assigns all streams in one call.
    at_once: bool,
    /// The stream of each survivor, in physical order.
    streams: Vec<u8>,
    /// The survivors by stream, and within a stream in physical order; and their words.
    sorted: Vec<Lpn>,
    sorted_words: Vec<u64>,
    /// Where those of each stream begin in that; once they are there, where they end.
    ends: Box<[usize; STREAMS]>,
}

/// One entry for each value of a stream number: indexing needs no check.
const STREAMS: usize = 256;

impl Sorter {
    /// For blocks of `pages` pages.
    pub(super) fn new(pages: u32) -> Self {
        let pages = pages as usize;
        Self {
            at_once: false,
            streams: Vec::with_capacity(pages),
            sorted: Vec::with_capacity(pages),
            sorted_words: Vec::new(),
            ends: Box::new([0; STREAMS]),
        }
    }

    /// Whether the placement assigns all streams in one call.
    pub(super) const fn at_once(&self) -> bool {
        self.at_once
    }

    pub(super) fn streams(&self) -> &[u8] {
        &self.streams
    }

    /// Whether the streams of the survivors that are listed are known.
    pub(super) const fn set_at_once(&mut self, at_once: bool) {
        self.at_once = at_once;
    }

    /// Takes the streams of `count` listed survivors from the start of `streams`, if they are
    /// known.
    #[inline(always)]
    pub(super) fn assign_known(&mut self, streams: &[u8], count: usize) {
        self.streams.clear();
        self.streams.extend_from_slice(&streams[..count.min(streams.len())]);
        self.streams.resize(count, 0);
    }

    /// Asks a placement about the survivors of a victim, which it may sort.
    #[inline(always)]
    pub(super) fn ask<P: Placement>(
        &mut self,
        placement: &mut P,
        lpns: &mut [Lpn],
        words: &mut [u64],
        now: u64,
    ) -> Streams {
        let streams = &mut self.streams;
        streams.resize(lpns.len(), 0);
        let mut survivors = placement::Survivors::new(lpns, words, streams, now);
        let answer = placement.survivors(&mut survivors);
        self.at_once = answer == Answer::AtOnce;
        match (answer, streams.first()) {
            (Answer::Together(stream), _) => Streams::One(stream),
            (Answer::AtOnce, Some(&first)) if are_all(streams, first) => Streams::One(first),
            _ => Streams::Each,
        }
    }

    /// Assigns streams to survivors from number `done` on while their open blocks have room. Returns their number, and
    /// the stream of the first that finds none.
    #[inline(always)]
    fn assign<P: Placement>(
        &mut self,
        placement: &mut P,
        home: &Bank,
        survivors: &mut Survivors<'_>,
        done: usize,
        now: u64,
    ) -> (usize, Option<u8>) {
        let mut room = [0_u32; STREAMS];
        for (room, open) in room.iter_mut().zip(home.open_blocks()) {
            *room = open.room();
        }
        let streams = &mut self.streams[done..];
        let (count, full) = if self.at_once {
            let count = streams.iter().take_while(|&&stream| take_room(&mut room, stream)).count();
            (count, streams.get(count).copied())
        } else {
            let words = survivors.words.get_mut(done..).unwrap_or(&mut []);
            assign_each(placement, &mut room, &survivors.lpns[done..], words, streams, now)
        };
        let mut end = 0;
        for ((start, open), left) in self.ends.iter_mut().zip(home.open_blocks()).zip(&room) {
            *start = end;
            end += (open.room() - left) as usize;
        }
        (count, full)
    }

    /// Where all survivors find room, the next blocks of one stream at most being opened for it: notes where those of
    /// each stream begin. Then they can be moved stream by stream, for the order in which blocks are opened is the same.
    #[inline(always)]
    fn assign_all(&mut self, home: &Bank) -> bool {
        let open = home.open_blocks();
        let counts = &mut *self.ends;
        counts[..open.len()].fill(0);
        for &stream in &self.streams {
            counts[usize::from(stream)] += 1;
        }
        let (mut start, mut full) = (0, 0);
        for (count, open) in counts.iter_mut().zip(open) {
            full += usize::from(*count > open.room() as usize);
            start += core::mem::replace(count, start);
        }
        start == self.streams.len() && full <= 1 && full <= home.free_blocks()
    }

    /// Sorts survivors that were assigned, from number `done` on; then [`ends`](Self::ends) are where those of each
    /// stream end.
    ///
    /// No branch predictor wins on which stream comes next, so there is no branch on it.
    #[inline(always)]
    fn sort(&mut self, survivors: Run<'_>, done: usize) {
        let Run { lpns, words } = survivors;
        let streams = &self.streams[done..][..lpns.len()];
        self.sorted.resize(lpns.len(), Lpn(0));
        self.sorted_words.resize(words.len(), 0);
        let (ends, sorted) = (&mut *self.ends, &mut self.sorted[..]);
        if words.is_empty() {
            for (&stream, &lpn) in streams.iter().zip(lpns) {
                let end = &mut ends[usize::from(stream)];
                let at = core::mem::replace(end, *end + 1);
                sorted[at] = lpn;
            }
            return;
        }
        let sorted_words = &mut self.sorted_words[..sorted.len()];
        for ((&stream, &lpn), &word) in streams.iter().zip(lpns).zip(words) {
            let end = &mut ends[usize::from(stream)];
            let at = core::mem::replace(end, *end + 1);
            sorted[at] = lpn;
            sorted_words[at] = word;
        }
    }
}

/// Whether survivors all go to one stream.
#[inline(always)]
fn are_all(streams: &[u8], one: u8) -> bool {
    streams.iter().fold(0, |differs, stream| differs | (stream ^ one)) == 0
}

/// Takes a page's room in a stream's open block; false if there is none.
#[inline(always)]
fn take_room(room: &mut [u32; STREAMS], stream: u8) -> bool {
    let room = &mut room[usize::from(stream)];
    if *room == 0 {
        return false;
    }
    *room -= 1;
    true
}

/// Asks about survivors one after another, up to the first that finds no room.
#[inline(always)]
fn assign_each<P: Placement>(
    placement: &mut P,
    room: &mut [u32; STREAMS],
    survivors: &[Lpn],
    words: &mut [u64],
    streams: &mut [u8],
    now: u64,
) -> (usize, Option<u8>) {
    for &lpn in &survivors[..AHEAD.min(survivors.len())] {
        placement.prefetch(lpn);
    }
    for (i, (&lpn, assigned)) in survivors.iter().zip(streams).enumerate() {
        if let Some(&next) = survivors.get(i + AHEAD) {
            placement.prefetch(next);
        }
        let stream = ask_about(placement, lpn, words.get_mut(i), now);
        if !take_room(room, stream) {
            return (i, Some(stream));
        }
        *assigned = stream;
    }
    (survivors.len(), None)
}

/// Moves survivors, of a victim and those cleaned with it, each to its stream.
///
/// Pages that cannot be read stay where they are. After an error the rest do, and the caller sees to
/// the counts of the victims.
#[inline(always)]
pub(super) fn move_survivors<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    sorter: &mut Sorter,
    survivors: Survivors<'_>,
    from: Source,
    streams: Streams,
) -> Result<(), FtlError> {
    parts.banks[from.bank].begin_copying();
    let (Parts { chip, tables, .. }, lpns) = (&mut *parts, survivors.lpns);
    chip.expect_copies(&mut lpns.iter().map(|&lpn| tables.entry(lpn)));
    let mut moved = 0;
    let result = match streams {
        Streams::One(stream) => {
            let run = Run { lpns, words: survivors.words };
            move_to_one(parts, run, &mut moved, from, stream)
        }
        Streams::Each => move_to_each(parts, sorter, survivors, &mut moved, from),
    };
    if result.is_err() {
        parts.counters.copies -= (lpns.len() - moved) as u64;
    }
    parts.banks[from.bank].count_all_copied(from.victim, from.now);
    result
}

/// Moves the few survivors of a step, all to one stream.
#[inline(always)]
pub(super) fn move_few_to_one<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    Survivors { lpns, words }: Survivors<'_>,
    from: Source,
    stream: u8,
) -> Result<(), FtlError> {
    let (Parts { chip, tables, banks, .. }, run) = (&mut *parts, Run { lpns, words });
    chip.expect_copies(&mut lpns.iter().map(|&lpn| tables.entry(lpn)));
    banks[from.bank].begin_copying();
    let mut done = 0;
    let Some(stopped) = copy_run(parts, run, &mut done, from, usize::from(stream)) else {
        parts.banks[from.bank].count_copied(usize::from(stream), from.victim, from.now);
        return Ok(());
    };
    move_rest(parts, run, done, from, stopped)
}

/// Moves the survivors of a step from number `done` on, at which a run stopped.
#[cold]
#[inline(never)]
fn move_rest<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    run: Run<'_>,
    done: usize,
    from: Source,
    stopped: Stopped,
) -> Result<(), FtlError> {
    let stream = stopped.stream as u8;
    let rest = Run::of(run.lpns, run.words, done, run.lpns.len());
    let mut moved = 0;
    let result = move_alone(parts, from, stopped).and_then(|()| {
        moved += 1;
        let rest = Run::of(rest.lpns, rest.words, 1, rest.lpns.len());
        move_to_one(parts, rest, &mut moved, from, stream)
    });
    if result.is_err() {
        parts.counters.copies -= (rest.lpns.len() - moved) as u64;
    }
    parts.banks[from.bank].count_all_copied(from.victim, from.now);
    result
}

/// Moves the few survivors of a step each to its stream, in the order in which they are listed: those side by side that
/// go to one stream together.
#[inline(always)]
pub(super) fn move_few<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    sorter: &mut Sorter,
    Survivors { lpns, words }: Survivors<'_>,
    from: Source,
    is_known: bool,
) -> Result<(), FtlError> {
    parts.banks[from.bank].begin_copying();
    let (Parts { chip, tables, .. }, all) = (&mut *parts, lpns.len());
    chip.expect_copies(&mut lpns.iter().map(|&lpn| tables.entry(lpn)));
    let streams = &mut sorter.streams[..all];
    let (mut moved, mut done, mut known) = (0, 0, if is_known { all } else { 0 });
    let mut result = Ok(());
    while done < all && result.is_ok() {
        let Parts { placement, banks, .. } = &mut *parts;
        let mut stream_of = |i: usize| {
            if i == known {
                streams[i] = ask_about(placement, lpns[i], words.get_mut(i), from.now);
                known += 1;
            }
            streams[i]
        };
        let stream = stream_of(done);
        // As long as it has room: which blocks are open may matter to the placement's next answer.
        let room = banks[from.bank].open(usize::from(stream)).room() as usize;
        let mut end = done + 1;
        while end < all && end - done < room && stream_of(end) == stream {
            end += 1;
        }
        let run = Run::of(lpns, words, done, end);
        result = move_to_one(parts, run, &mut moved, from, stream);
        done = end;
    }
    if result.is_err() {
        parts.counters.copies -= (all - moved) as u64;
    }
    parts.banks[from.bank].count_all_copied(from.victim, from.now);
    result
}

/// The stream that a placement assigns to a survivor, whose word it may change.
#[inline(always)]
fn ask_about<P: Placement>(placement: &mut P, lpn: Lpn, word: Option<&mut u64>, now: u64) -> u8 {
    let mut none = 0;
    let word = word.unwrap_or(&mut none);
    let mut page = P::Page::from_word(*word);
    let stream = placement.survivor(&mut page, lpn, now);
    *word = page.word();
    stream
}

/// Moves each survivor to its stream: as many as find room in the open blocks, then the one that finds
/// none, and so on. Adds the number moved.
#[inline(always)]
fn move_to_each<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    sorter: &mut Sorter,
    mut survivors: Survivors<'_>,
    moved: &mut usize,
    from: Source,
) -> Result<(), FtlError> {
    let (lpns, streams) = (survivors.lpns, parts.banks[from.bank].open_blocks().len());
    if sorter.at_once && sorter.assign_all(&parts.banks[from.bank]) {
        sorter.sort(Run { lpns, words: survivors.words }, 0);
        return move_sorted(parts, sorter, streams, moved, from);
    }
    let mut done = 0;
    while done < lpns.len() {
        let Parts { placement, banks, .. } = &mut *parts;
        let home = &banks[from.bank];
        let (count, full) = sorter.assign(placement, home, &mut survivors, done, from.now);
        sorter.sort(Run::of(lpns, survivors.words, done, done + count), done);
        move_sorted(parts, sorter, streams, moved, from)?;
        done += count;
        if let (Some(stream), Some(&lpn)) = (full, lpns.get(done)) {
            let word = survivors.words.get(done).copied().unwrap_or(0);
            let stopped = Stopped { lpn, word, stream: usize::from(stream), failed: None };
            move_alone(parts, from, stopped)?;
            *moved += 1;
            done += 1;
        }
    }
    Ok(())
}

/// Moves sorted survivors, stream by stream. Adds the number moved.
#[inline(always)]
fn move_sorted<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    sorter: &Sorter,
    streams: usize,
    moved: &mut usize,
    from: Source,
) -> Result<(), FtlError> {
    let mut start = 0;
    for (stream, &end) in (0..).zip(&sorter.ends[..streams]) {
        if start < end {
            let run = Run::of(&sorter.sorted, &sorter.sorted_words, start, end);
            move_to_one(parts, run, moved, from, stream)?;
        }
        start = end;
    }
    Ok(())
}

/// Moves survivors to one stream. Adds the number moved.
#[inline(always)]
fn move_to_one<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    survivors: Run<'_>,
    moved: &mut usize,
    from: Source,
    stream: u8,
) -> Result<(), FtlError> {
    let mut done = 0;
    while done < survivors.lpns.len() {
        let before = done;
        let stopped = copy_run(parts, survivors, &mut done, from, usize::from(stream));
        *moved += done - before;
        let Some(stopped) = stopped else { break };
        move_alone(parts, from, stopped)?;
        done += 1;
        *moved += 1;
    }
    Ok(())
}

/// Copies survivors from number `done` on to one stream, as long as its open block has room and nothing
/// fails.
#[inline]
fn copy_run<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    survivors: Run<'_>,
    done: &mut usize,
    Source { bank, now, .. }: Source,
    s: usize,
) -> Option<Stopped> {
    let Parts { chip, placement, tables, banks, durability, .. } = parts;
    let home = &mut banks[bank];
    let stream = s as u8;
    let all = survivors.lpns.len();
    let (to, count) = home.take_run(s, all - *done);
    let run = Run::of(survivors.lpns, survivors.words, *done, *done + count as usize);
    let mut copied = run.lpns.len();
    let mut failed = None;
    if count > 0 {
        let before = durability.programs();
        let page = |i: u32| {
            let lpn = run.lpns[i as usize];
            let at = tables.entry(lpn);
            debug_assert!(tables.is_owner(lpn, at), "{lpn:?} is copied from {at:?}");
            let sequence = before + u64::from(i) + 1;
            let note = placement.saved(lpn, run.word(i as usize));
            (at, Oob { lpn, stream, sequence, time: now, note })
        };
        if let Err((done, error)) = chip.copy_run(to.at, count, page) {
            copied = done as usize;
            failed = Some(error);
            // The page whose copy failed stays taken.
            home.untake_all(s, count - done - 1);
        }
        durability.set_programs(before + copied as u64);
        let done = Run::of(run.lpns, run.words, 0, copied);
        tables.point_run(done.lpns, to);
        tables.set_words(P::Page::KEPT, done.words, to);
        if home.dates_copies() {
            let words = (0..).map(|i| done.word(i));
            let written = done.lpns.iter().zip(words);
            let dates = written.filter_map(|(&lpn, word)| placement.last_written_word(lpn, word));
            if let Some(youngest) = dates.max() {
                home.date(s, youngest);
            }
        }
        if let Some(pages) = placement.hot_pages() {
            let hot = done.lpns.iter().filter(|lpn| pages.is_hot(**lpn)).count();
            home.warm(home.open(s).block(), hot as i32);
        }
    }
    *done += copied;
    let word = survivors.word(*done);
    survivors.lpns.get(*done).map(|&lpn| Stopped { lpn, word, stream: s, failed })
}

/// Moves a survivor whose stream has no room, or whose copy failed, to another block. It stays where it
/// is if it cannot be read.
#[inline(never)]
fn move_alone<C: Chip>(
    parts: &mut Parts<C>,
    Source { bank, victim, now }: Source,
    Stopped { lpn, mut word, stream, failed }: Stopped,
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
        let s = with_room(parts, bank, stream, now)?;
        if s != stream {
            word = parts.placement.spilt_word(lpn, word, s as u8, now);
        }
        let to = parts.banks[bank].take(s);
        let oob = parts.oob(lpn, word, s as u8, now);
        if let Err(failed) = parts.chip.copy(parts.tables.entry(lpn), to.at, oob) {
            if may_try_again(parts, bank, s, failed, Some(victim), now)? {
                continue;
            }
            return Ok(());
        }
        parts.point(lpn, word, to);
        if parts.banks[bank].dates_copies()
            && let Some(written) = parts.placement.last_written_word(lpn, word)
        {
            parts.banks[bank].date(s, written);
        }
        if parts.placement.is_hot(lpn) {
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
    bank: usize,
    stream: usize,
    now: u64,
) -> Result<usize, FtlError> {
    let home = &parts.banks[bank];
    if !home.open(stream).is_full() {
        return Ok(stream);
    }
    if home.free_blocks() > 0 {
        open_next(parts, bank, stream as u8, now)?;
        return Ok(stream);
    }
    parts.counters.spills += 1;
    let open = home.open_blocks();
    open.iter().position(|open| !open.is_full()).ok_or(FtlError::NoSpace)
}
