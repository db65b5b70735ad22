//! The device in hand: requests in bytes become pages of the layer.
//!
//! Times are those of the simulator (`thermocline_sim`, engine on the clock of arrivals), so that a
//! recorded run can be repeated there: a request sets the clock to its arrival, and each page that
//! is written gets a tick of its own.

use std::sync::MutexGuard as TapGuard;

use parking_lot::MutexGuard;
use thermocline_flash::Lpn;
use thermocline_ftl::{FtlError, Holds};
use thermocline_policy::idle::Idle;
use thermocline_trace::Op;

use super::{AnyLayer, Device, Fault, Settings, fault::is_full, snapshot::Snapshot};
use crate::record::{Rows, row};

/// The state under the lock.
pub(super) struct State {
    pub layer: AnyLayer,
    /// The time that the layer saw last.
    pub now: u64,
    /// Room for a page that is changed in part.
    pub page: Vec<u8>,
    /// A page of zeros.
    pub zeros: Vec<u8>,
    /// Changes visible to the host.
    pub changes: u64,
    /// The last request, and the byte after it.
    pub last: Option<(Op, u64)>,
    pub idle: Option<Box<dyn Idle>>,
    /// The longest step of that, in nanoseconds.
    pub idle_step: u64,
    pub ignores_trims: bool,
    /// Its content at the start of a running copy.
    pub snapshot: Option<Box<Snapshot>>,
    /// Its policies.
    pub settings: Settings,
    /// Requests are no longer served.
    pub closed: bool,
    /// A thread died while it changed the layer.
    pub broken: bool,
}

/// A device in hand. Others wait: let it go soon.
pub struct Held<'a> {
    pub(super) device: &'a Device,
    pub(super) state: MutexGuard<'a, State>,
    pub(super) rows: Option<TapGuard<'a, Rows>>,
    /// When the requests at hand came.
    pub(super) arrival: u64,
}

impl std::fmt::Debug for Held<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").field("device", &self.device.name).finish_non_exhaustive()
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(rows) = &self.rows {
            rows.rest();
        }
        if std::thread::panicking() {
            self.state.broken = true;
        }
        if self.wants_sync() {
            self.device.sync_soon();
        }
        self.device.served(self.arrival);
    }
}

/// Flash operations of a write after which it gives way to readers. Each connection that waits then has one turn,
/// so writes do not starve. The device does not change hands for every page: that costs more than a page.
const TURN: u64 = 8;

/// Where in a request something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// At its beginning.
    First,
    /// After another piece of it, and perhaps after other requests.
    More,
}

/// A range of pages, with the covered parts of the first and last.
struct Span {
    /// The first page.
    first: u32,
    /// Bytes of it before the range.
    skip: usize,
}

impl Held<'_> {
    /// Lets others have it for a moment, if any wait.
    ///
    /// # Errors
    /// Those of [`Device::lock`].
    pub fn pause(&mut self) -> Result<(), Fault> {
        if self.device.is_wanted() {
            // Who has the device may want the rows, and never the other way round.
            self.rows = None;
            MutexGuard::bump(&mut self.state);
            self.rows = self.device.tap.as_ref().map(|tap| tap.lock());
            self.state.check()?;
        }
        Ok(())
    }

    /// Whether zeros are quicker made than written.
    #[must_use]
    pub fn trims(&self) -> bool {
        !self.state.ignores_trims
    }

    /// Whether the layer wants a sync ahead of need.
    pub(super) fn wants_sync(&mut self) -> bool {
        self.state.layer.upkeep().wants_sync()
    }

    /// Number of changes so far: what [`Device::settle`] wants to know.
    #[must_use]
    #[inline]
    pub fn changes(&self) -> u64 {
        self.state.changes
    }

    /// Accounts for a request in the layer's clock, the idle policy and the recording. A piece extends
    /// its request, unless another request came in between: then it counts as a request of its own,
    /// since the order of pages and the clock are those of two.
    #[inline]
    fn take_up(&mut self, op: Op, offset: u64, length: u64, piece: Piece) -> Result<(), Fault> {
        let size = self.device.size;
        let end = offset.checked_add(length).filter(|end| *end <= size);
        let end = end.ok_or(Fault::Beyond { offset, length, size })?;
        let before = self.state.last.replace((op, end));
        if piece == Piece::More && before == Some((op, offset)) {
            if let Some(pace) = &self.device.pace {
                pace.begin();
            }
            if let Some(rows) = &mut self.rows {
                rows.grow(length);
            }
            return Ok(());
        }
        let now = self.advance();
        if let Some(idle) = &mut self.state.idle {
            idle.arrived(self.arrival);
        }
        if let Some(pace) = &self.device.pace {
            pace.begin();
        }
        if let (Some(rows), Some(tap)) = (&mut self.rows, &self.device.tap) {
            rows.push(row(now, op, offset, length, tap.volume()));
        }
        Ok(())
    }

    /// Sets the layer's clock to the arrival. Who let others have the device came before those: then the
    /// clock stands, so that it never falls, in the recording either.
    #[inline]
    fn advance(&mut self) -> u64 {
        self.device.clock.start();
        self.state.now = self.state.now.max(self.arrival);
        self.state.now
    }

    #[inline]
    fn span(&self, offset: u64) -> Span {
        let page = u64::from(self.device.page_size);
        // The device has at most 2^32 pages, and the range is inside it.
        Span { first: (offset / page) as u32, skip: (offset % page) as usize }
    }

    #[cold]
    fn fault(&self, error: FtlError, page: u32) -> Fault {
        let fault = Fault::of_layer(error, page, self.device.page_size);
        self.device.news.tell_of(self.device.name(), &fault);
        fault
    }

    /// Reads `into.len()` bytes; a page that holds nothing reads as zeros.
    ///
    /// # Errors
    /// [`Fault`], naming the page.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.take_up(Op::Read, offset, into.len() as u64, Piece::First)?;
        self.read_more(offset, into)
    }

    /// Goes on with a read that was taken up.
    pub(crate) fn read_more(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
        let Span { first, mut skip } = self.span(offset);
        let size = self.device.page_size as usize;
        let (mut page, mut rest) = (first, into);
        while !rest.is_empty() {
            let whole = if skip == 0 { rest.len() / size } else { 0 };
            let here = if whole > 0 { whole * size } else { rest.len().min(size - skip) };
            let (bytes, tail) = rest.split_at_mut(here);
            let state = &mut *self.state;
            let done = if whole > 0 {
                state.layer.read_run(Lpn(page), bytes, size)
            } else {
                let done = state.layer.read(Lpn(page), &mut state.page);
                bytes.copy_from_slice(&state.page[skip..skip + here]);
                done.map(drop).map_err(|e| (Lpn(page), e))
            };
            if let Err((lpn, error)) = done {
                return Err(self.fault(error, lpn.0));
            }
            (rest, skip) = (tail, 0);
            page += whole.max(1) as u32;
        }
        Ok(())
    }

    /// A read is taken up, to be done piece by piece with [`run`](Self::run) and
    /// [`read_more`](Self::read_more).
    pub(crate) fn begin_read(&mut self, offset: u64, length: u64) -> Result<(), Fault> {
        self.take_up(Op::Read, offset, length, Piece::First)
    }

    /// Whether the page at `offset` holds data, lost data included, and the number of the next `length` bytes
    /// in pages of the same kind. Looks at up to `most` pages. The range must be inside the device.
    #[must_use]
    pub fn run(&self, offset: u64, length: u64, most: u32) -> (bool, u64) {
        let size = u64::from(self.device.page_size);
        let end = offset.saturating_add(length).min(self.device.size);
        let (first, last) = (offset / size, end.div_ceil(size));
        let inspect = self.state.layer.inspect();
        let has_data = |page: u64| inspect.holds(Lpn(page as u32)) != Holds::Nothing;
        let holds = has_data(first);
        let stop = last.min(first + u64::from(most.max(1)));
        let mut next = first + 1;
        while next < stop && has_data(next) == holds {
            next += 1;
        }
        (holds, (next * size).min(end).saturating_sub(offset))
    }

    /// Writes `data`; a page covered in part keeps the rest of its content.
    ///
    /// # Errors
    /// [`Fault`], naming the page; those before it are written.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Fault> {
        self.write_piece(offset, data, Piece::First)
    }

    /// Writes a piece of a request.
    pub(crate) fn write_piece(
        &mut self,
        offset: u64,
        data: &[u8],
        piece: Piece,
    ) -> Result<(), Fault> {
        self.check_writable()?;
        self.take_up(Op::Write, offset, data.len() as u64, piece)?;
        let Span { first, mut skip } = self.span(offset);
        let size = self.device.page_size as usize;
        let (mut page, mut rest) = (first, data);
        self.keep_old(first, skip + data.len());
        self.state.changes += 1;
        let mut turn = self.operations();
        while !rest.is_empty() {
            if page > first && self.device.is_wanted_by_readers() && self.has_had(turn) {
                self.give_way(u64::from(page) * size as u64, rest.len())?;
                turn = self.operations();
            }
            let here = rest.len().min(size - skip);
            let (bytes, tail) = rest.split_at(here);
            let state = &mut *self.state;
            let done = if here == size {
                state.now += 1;
                state.layer.write(Lpn(page), bytes, state.now)
            } else {
                state.write_part(Lpn(page), skip, bytes)
            };
            if let Err(error) = done {
                return Err(self.fault(error, page));
            }
            (rest, skip) = (tail, 0);
            page += 1;
        }
        Ok(())
    }

    /// Flash operations so far.
    fn operations(&self) -> u64 {
        let counters = self.state.layer.inspect().counters();
        counters.host_writes + counters.copies + counters.erases
    }

    /// Whether a write has had its turn, which began after so many operations. Where the chip keeps a pace the
    /// device is never in hand for long.
    fn has_had(&self, turn: u64) -> bool {
        self.device.pace.is_none() && self.operations() - turn >= TURN
    }

    /// A write lets others have the device before it goes on at `at` with what is left.
    #[cold]
    fn give_way(&mut self, at: u64, left: usize) -> Result<(), Fault> {
        if let Some(rows) = &mut self.rows {
            rows.shrink(left as u64);
        }
        self.state.last = Some((Op::Write, at));
        self.pause()?;
        self.take_up(Op::Write, at, left as u64, Piece::More)?;
        self.keep_old((at / u64::from(self.device.page_size)) as u32, left);
        self.state.changes += 1;
        Ok(())
    }

    /// Trims bytes. Pages entirely in the range read as zeros then, unless the policy ignores TRIM;
    /// the rest stays.
    ///
    /// # Errors
    /// [`Fault`], naming the page.
    pub fn trim(&mut self, offset: u64, length: u64) -> Result<(), Fault> {
        self.trim_piece(offset, length, Piece::First)
    }

    /// Trims a piece of a request, cut between pages.
    pub(crate) fn trim_piece(
        &mut self,
        offset: u64,
        length: u64,
        piece: Piece,
    ) -> Result<(), Fault> {
        self.empty(offset, length, piece, |layer, lpn, now| layer.trim(lpn, now).map(drop))
    }

    /// Empties the pages that lie wholly in the range, unless the policy passes over trims.
    fn empty(
        &mut self,
        offset: u64,
        length: u64,
        piece: Piece,
        page_emptied: impl Fn(&mut AnyLayer, Lpn, u64) -> Result<(), FtlError>,
    ) -> Result<(), Fault> {
        self.check_writable()?;
        self.take_up(Op::Trim, offset, length, piece)?;
        let size = u64::from(self.device.page_size);
        let (from, to) = (offset.div_ceil(size), (offset + length) / size);
        if self.state.ignores_trims || from >= to {
            return Ok(());
        }
        self.keep_old(from as u32, ((to - from) * size) as usize);
        self.state.changes += 1;
        for page in from as u32..to as u32 {
            let state = &mut *self.state;
            if let Err(error) = page_emptied(&mut state.layer, Lpn(page), state.now) {
                return Err(self.fault(error, page));
            }
        }
        Ok(())
    }

    /// Makes bytes read as zeros: trims whole pages, or writes them if they must stay `allocated` or
    /// the policy ignores TRIM; writes parts of pages. The recording gets these operations.
    ///
    /// # Errors
    /// [`Fault`], naming the page.
    pub fn zero(&mut self, offset: u64, length: u64, allocated: bool) -> Result<(), Fault> {
        self.zero_piece(offset, length, allocated, Piece::First)
    }

    /// Zeros a piece of a request, cut between pages.
    pub(crate) fn zero_piece(
        &mut self,
        offset: u64,
        length: u64,
        allocated: bool,
        piece: Piece,
    ) -> Result<(), Fault> {
        self.check_writable()?;
        let size = u64::from(self.device.page_size);
        let end = offset.checked_add(length).filter(|end| *end <= self.device.size);
        let end = end.ok_or(Fault::Beyond { offset, length, size: self.device.size })?;
        let (from, to) = (offset.next_multiple_of(size), end / size * size);
        if allocated || self.state.ignores_trims {
            return self.write_zeros(offset, end, piece);
        }
        if from > to {
            return self.zero_part(offset, end, piece);
        }
        self.zero_part(offset, from, piece)?;
        if from < to {
            self.empty(from, to - from, piece, |layer, lpn, now| layer.zero(lpn, now))?;
        }
        self.zero_part(to, end, piece)
    }

    /// Writes zeros to a part of a page; an empty page reads as zeros already.
    fn zero_part(&mut self, from: u64, to: u64, piece: Piece) -> Result<(), Fault> {
        if from >= to || !self.run(from, to - from, 1).0 {
            return Ok(());
        }
        self.write_zeros(from, to, piece)
    }

    fn write_zeros(&mut self, from: u64, to: u64, mut piece: Piece) -> Result<(), Fault> {
        // Out and in again: nothing else looks at it.
        let zeros = std::mem::take(&mut self.state.zeros);
        let size = zeros.len() as u64;
        let mut at = from;
        let mut done = Ok(());
        while at < to && done.is_ok() {
            let next = (at / size * size + size).min(to);
            done = self.write_piece(at, &zeros[..(next - at) as usize], piece);
            (at, piece) = (next, Piece::More);
        }
        self.state.zeros = zeros;
        done
    }

    /// Called before `bytes` bytes from the start of a page change: a running copy needs the old data.
    #[inline]
    fn keep_old(&mut self, first: u32, bytes: usize) {
        let state = &mut *self.state;
        if let Some(snapshot) = &mut state.snapshot {
            let pages = bytes.div_ceil(self.device.page_size as usize) as u32;
            snapshot.keep(&mut state.layer, &mut state.page, first..first + pages);
        }
    }

    /// The host flushes: only the recording wants to know, and the clock, which goes on there as well.
    pub(crate) fn note_flush(&mut self) {
        let now = self.advance();
        self.state.last = None;
        if let (Some(rows), Some(tap)) = (&mut self.rows, &self.device.tap) {
            rows.push(row(now, Op::Flush, 0, 0, tap.volume()));
        }
    }

    /// Brings onto the chip what only memory knows.
    pub(super) fn settle(&mut self) -> Result<(), Fault> {
        let state = &mut *self.state;
        let now = state.now;
        let settled = state.layer.upkeep().settle(now).map_err(|error| match error {
            FtlError::NoSpace => Fault::NoSpace,
            FtlError::ReadOnly => Fault::WornOut,
            error if is_full(&error) => Fault::FileSystemFull,
            error => {
                Fault::Sync(format!("what was trimmed could not be made to last: {error}").into())
            }
        });
        settled.inspect_err(|fault| self.device.news.tell_of(self.device.name(), fault))
    }

    #[inline]
    fn check_writable(&self) -> Result<(), Fault> {
        if self.device.read_only { Err(Fault::ReadOnly) } else { Ok(()) }
    }
}

/// The state in the hands of somebody who serves no host: if he dies with it, nothing is known to
/// hold any more.
pub(super) struct Careful<'a>(pub MutexGuard<'a, State>);

impl std::ops::Deref for Careful<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        &self.0
    }
}

impl std::ops::DerefMut for Careful<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

impl Drop for Careful<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken = true;
        }
    }
}

impl State {
    /// Whether requests can be served.
    #[inline]
    pub(super) fn check(&self) -> Result<(), Fault> {
        self.check_sound()?;
        if self.closed { Err(Fault::ShuttingDown) } else { Ok(()) }
    }

    #[inline]
    pub(super) fn check_sound(&self) -> Result<(), Fault> {
        if self.broken { Err(Fault::Broken) } else { Ok(()) }
    }

    /// Changes a part of a page.
    fn write_part(&mut self, lpn: Lpn, skip: usize, bytes: &[u8]) -> Result<(), FtlError> {
        self.layer.read(lpn, &mut self.page)?;
        self.page[skip..skip + bytes.len()].copy_from_slice(bytes);
        self.now += 1;
        self.layer.write(lpn, &self.page, self.now)
    }
}
