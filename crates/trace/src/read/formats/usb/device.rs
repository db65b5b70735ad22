//! One USB disk: its logical units and its commands in progress.

use super::{
    arrivals::{Outcome, Serial},
    bot,
    data::{LONGEST, Stage},
    scsi::{self, Command},
    shared::Shared,
    transfer::{Address, Transfer},
    uas,
    unit::{TOO_FAR, Unit, volume},
};
use crate::{Op, Request, read::context::Context};

/// Maximum number of distinct logical units of a device.
const MOST_UNITS: usize = 256;

/// Maximum number of commands in progress on a device.
const MOST_AT_ONCE: usize = 1024;

/// Bytes of the reply to READ CAPACITY that contain the sector size, and the possible lengths of
/// the reply.
const CAPACITY: usize = 12;
const CAPACITY_REPLIES: [std::ops::RangeInclusive<u64>; 2] = [8..=8, 12..=32];

/// Maximum length of an UNMAP list that is recognised on a data pipe.
const LIST: usize = 4 << 10;

/// Why commands yield no request; completes "3 rows left out: …".
const OTHER: &str = "SCSI commands that are neither reads, writes, trims nor cache flushes";
pub(super) const UNANSWERED: &str =
    "commands without an answer in the capture: it ended, lost packets, or saw a reset";
const REFUSED: &str = "commands that the device refused; the host repeats what it needs";
const NO_RANGES: &str = "UNMAP commands whose ranges were not all captured";

/// Warnings for the user, after a count.
pub(super) const ORPHANED: &str =
    "answers to commands that are not in the capture (it began late, or lost packets)";
const NOT_WHOLE: &str = "reads and writes whose bytes were not captured whole";

/// A device that received a command.
#[derive(Debug)]
pub(super) struct Device {
    address: Address,
    units: Vec<Unit>,
    protocol: Protocol,
}

/// The transport of the device, and its commands in progress.
#[derive(Debug)]
enum Protocol {
    /// Bulk-Only Transport: at most one command, with its tag.
    BulkOnly(Option<(u32, Running)>),
    Attached {
        running: Vec<(u16, Running)>,
        /// The last data that look like an UNMAP list, because they precede their command.
        list: Vec<u8>,
    },
}

/// A command in progress.
#[derive(Debug)]
struct Running {
    command: Command,
    unit: usize,
    /// Its number in the queue, if it may yield a request.
    serial: Option<Serial>,
    stage: Stage,
}

impl Device {
    pub(super) fn new(address: Address) -> Device {
        Device { address, units: Vec::new(), protocol: Protocol::BulkOnly(None) }
    }

    pub(super) fn is_bulk_only(&self) -> bool {
        matches!(self.protocol, Protocol::BulkOnly(_))
    }

    /// Handles a command of the Bulk-Only Transport.
    pub(super) fn wrapper(
        &mut self,
        wrapper: &bot::Wrapper,
        transfer: &Transfer<'_>,
        shared: &mut Shared,
        cx: &mut Context,
    ) {
        // The host sends a command only after the previous one has ended, at worst by a reset.
        self.abandon(shared, cx);
        let length = Some(u64::from(wrapper.length));
        let running = self.started(wrapper.lun, &wrapper.cdb, length, transfer.time_ns, shared, cx);
        self.protocol = Protocol::BulkOnly(Some((wrapper.tag, running)));
    }

    /// Handles a command of USB Attached SCSI.
    pub(super) fn unit(
        &mut self,
        unit: &uas::Unit,
        transfer: &Transfer<'_>,
        shared: &mut Shared,
        cx: &mut Context,
    ) {
        let mut new = self.started(unit.lun, &unit.cdb, None, transfer.time_ns, shared, cx);
        if self.is_bulk_only() {
            self.protocol = Protocol::Attached { running: Vec::new(), list: Vec::new() };
        }
        let Protocol::Attached { running, list } = &mut self.protocol else { return };
        if matches!(new.command, Command::Unmap(length) if usize::from(length) == list.len()) {
            new.stage.add(list, list.len() as u64, &mut shared.store);
            list.clear();
        }
        let same = running.iter().position(|(tag, _)| *tag == unit.tag);
        if let Some(at) = same.or((running.len() >= MOST_AT_ONCE).then_some(0)) {
            running.remove(at).1.abandoned(shared, cx);
        }
        running.push((unit.tag, new));
    }

    /// Handles data to the device.
    pub(super) fn outward(&mut self, transfer: &Transfer<'_>, shared: &mut Shared) {
        match &mut self.protocol {
            Protocol::BulkOnly(Some((_, running))) => {
                running.stage.add(transfer.data, transfer.length, &mut shared.store);
            }
            Protocol::BulkOnly(None) => {}
            Protocol::Attached { running, list } => {
                let bytes = transfer.data;
                if bytes.len() > LIST || !scsi::is_unmap_list(bytes) {
                    return;
                }
                let lacks = |running: &&mut (u16, Running)| {
                    matches!(running.1.command, Command::Unmap(n) if usize::from(n) == bytes.len())
                        && running.1.stage.bytes().is_empty()
                };
                match running.iter_mut().find(lacks) {
                    Some((_, running)) => {
                        running.stage.add(bytes, transfer.length, &mut shared.store);
                    }
                    None => {
                        list.clear();
                        list.extend_from_slice(bytes);
                    }
                }
            }
        }
    }

    /// Handles data or an answer from the device.
    pub(super) fn inward(
        &mut self,
        transfer: &Transfer<'_>,
        shared: &mut Shared,
        cx: &mut Context,
    ) {
        match &mut self.protocol {
            Protocol::BulkOnly(running) => match (bot::inward(transfer), &mut *running) {
                (bot::Inward::Data, Some((_, running))) => {
                    running.stage.add(transfer.data, transfer.length, &mut shared.store);
                }
                // An answer to another command is a stray, after which the host resets the device.
                (bot::Inward::Status(answered, good), Some((tag, _)))
                    if answered.is_none_or(|answered| answered == *tag) =>
                {
                    if let Some((_, running)) = running.take() {
                        running.ended(good, &mut self.units, shared, cx);
                    }
                }
                (bot::Inward::Status(Some(_), _), _) => cx.count(ORPHANED),
                _ => {}
            },
            Protocol::Attached { running, .. } => {
                let answered = uas::status(transfer).and_then(|(tag, good)| {
                    Some((running.iter().position(|(known, _)| *known == tag)?, good))
                });
                if let Some((at, good)) = answered {
                    running.remove(at).1.ended(good, &mut self.units, shared, cx);
                    return;
                }
                let asked = |running: &&mut (u16, Running)| match running.1.command {
                    Command::Capacity { long } => {
                        CAPACITY_REPLIES[usize::from(long)].contains(&transfer.length)
                    }
                    _ => false,
                };
                if let Some((_, running)) = running.iter_mut().find(asked) {
                    running.stage.add(transfer.data, transfer.length, &mut shared.store);
                }
            }
        }
    }

    /// Gives up the commands in progress.
    fn abandon(&mut self, shared: &mut Shared, cx: &mut Context) {
        match &mut self.protocol {
            Protocol::BulkOnly(running) => {
                if let Some((_, running)) = running.take() {
                    running.abandoned(shared, cx);
                }
            }
            Protocol::Attached { running, .. } => {
                running.drain(..).for_each(|(_, running)| running.abandoned(shared, cx));
            }
        }
    }

    /// Starts a command to a logical unit. `length` is what the host expects to move, if known.
    fn started(
        &mut self,
        lun: u16,
        cdb: &[u8; 16],
        length: Option<u64>,
        time_ns: u64,
        shared: &mut Shared,
        cx: &mut Context,
    ) -> Running {
        let at = self.unit_at(lun);
        let command = Command::of(cdb);
        let unit = &mut self.units[at];
        let found = match command {
            Command::Read(blocks) => unit.place(Op::Read, blocks, length, cx),
            Command::Write(blocks) => unit.place(Op::Write, blocks, length, cx),
            Command::WriteSame(blocks) => unit.place(Op::Write, blocks, None, cx),
            Command::Trim(blocks) => unit.place(Op::Trim, blocks, None, cx),
            // Its ranges come later; until then it keeps its place in the queue.
            Command::Unmap(_) => Ok((Op::Trim, 0, 0)),
            Command::Flush => Ok((Op::Flush, 0, 0)),
            Command::Capacity { .. } | Command::Other => Err(OTHER),
        };
        let mut wanted = match command {
            Command::Capacity { .. } => CAPACITY,
            Command::Unmap(length) => usize::from(length),
            _ => 0,
        };
        let serial = match found {
            Ok((op, offset, len)) => {
                let moves = matches!(command, Command::Read(_) | Command::Write(_));
                if shared.contents && length.is_some() && moves && len <= LONGEST {
                    wanted = len as usize;
                }
                let volume = volume(self.address, lun, cx);
                if let Some(bytes) = unit.disk(cx) {
                    cx.volumes.record_size(volume, bytes);
                }
                let (serial, given_up) =
                    shared.arrivals.push(Request { time_ns, op, offset, len, volume, hint: 0 });
                if given_up {
                    cx.drop_row(UNANSWERED);
                }
                Some(serial)
            }
            Err(why) => {
                cx.drop_row(why);
                None
            }
        };
        Running { command, unit: at, serial, stage: Stage::new(wanted) }
    }

    fn unit_at(&mut self, lun: u16) -> usize {
        match self.units.iter().position(|unit| unit.lun() == lun) {
            Some(at) => at,
            // Beyond the limit, units share the last one's sector size.
            None if self.units.len() >= MOST_UNITS => MOST_UNITS - 1,
            None => {
                self.units.push(Unit::new(lun));
                self.units.len() - 1
            }
        }
    }
}

impl Running {
    /// Ends a command after the device's answer.
    fn ended(self, good: bool, units: &mut [Unit], shared: &mut Shared, cx: &mut Context) {
        let unit = &mut units[self.unit];
        let Some(serial) = self.serial else {
            if let Command::Capacity { long } = self.command
                && good
            {
                let reply = self.stage.bytes();
                unit.set_capacity(scsi::sector_of(long, reply), scsi::disk_of(long, reply));
            }
            return self.stage.forget(&mut shared.store);
        };
        // It was given up and counted before.
        let Some(request) = shared.arrivals.waiting(serial) else {
            return self.stage.forget(&mut shared.store);
        };
        if !good {
            cx.drop_row(REFUSED);
            self.stage.forget(&mut shared.store);
            return shared.arrivals.settle(serial, Outcome::Dropped);
        }
        let outcome = match self.command {
            Command::Unmap(_) => {
                let ranges = trims(self.stage.bytes(), request, unit, cx);
                self.stage.forget(&mut shared.store);
                Outcome::Ranges(ranges)
            }
            Command::Read(_) | Command::Write(_) if shared.contents => {
                let bytes = self.stage.finish(&mut shared.store);
                let bytes = bytes.filter(|bytes| bytes.len() as u64 == request.len);
                if bytes.is_none() {
                    cx.count(NOT_WHOLE);
                }
                Outcome::Done(bytes)
            }
            _ => {
                self.stage.forget(&mut shared.store);
                Outcome::Done(None)
            }
        };
        shared.arrivals.settle(serial, outcome);
    }

    /// Ends a command without an answer.
    fn abandoned(self, shared: &mut Shared, cx: &mut Context) {
        if let Some(serial) = self.serial
            && shared.arrivals.waiting(serial).is_some()
        {
            cx.drop_row(UNANSWERED);
            shared.arrivals.settle(serial, Outcome::Dropped);
        }
        self.stage.forget(&mut shared.store);
    }
}

/// The requests of an UNMAP, in reverse order.
fn trims(list: &[u8], whole: Request, unit: &mut Unit, cx: &mut Context) -> Vec<Request> {
    if !scsi::is_whole(list) {
        cx.drop_row(NO_RANGES);
    }
    let mut all = Vec::new();
    for blocks in scsi::ranges(list).rev().filter(|blocks| blocks.count > 0) {
        match unit.bytes(blocks, None, cx) {
            Some((offset, len)) => all.push(Request { offset, len, ..whole }),
            None => cx.drop_row(TOO_FAR),
        }
    }
    all
}
