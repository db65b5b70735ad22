//! The disks of a capture: takes transfers, yields requests.
//!
//! A bulk transfer matters at the moment at which it has its bytes: outward ones when they are
//! submitted, inward ones when they are complete. Everything else on the bus is skipped. A request
//! arrives when its command is sent.

use rustc_hash::FxHashMap;

use super::{
    bot,
    device::{Device, ORPHANED, UNANSWERED},
    shared::Shared,
    transfer::{Address, Transfer},
    uas,
};
use crate::{Request, read::context::Context};

/// Maximum number of devices. A bus has 127 addresses, and a host few buses.
const MOST_DEVICES: usize = 4096;

/// Why commands yield no request; completes "3 rows left out: …".
const CUT: &str =
    "commands cut short by the capture; record at least 128 bytes of a packet (tcpdump -s)";
const TOO_MANY: &str = "commands to more devices than any host has";

/// Warning for the user.
const NOTHING: &str =
    "no command to a USB disk in the capture; check which bus the disk is on (lsusb)";

/// The disks of a capture.
#[derive(Debug, Default)]
pub(super) struct Disks {
    devices: Vec<Device>,
    by_address: FxHashMap<Address, usize>,
    /// The last device used, which is mostly also the next one.
    last: Option<(Address, usize)>,
    shared: Shared,
}

impl Disks {
    /// Keeps the bytes of requests if `contents` is true.
    pub(super) fn new(contents: bool) -> Disks {
        Disks { shared: Shared::new(contents), ..Disks::default() }
    }

    /// Handles the next transfer of the capture.
    #[inline]
    pub(super) fn transfer(&mut self, transfer: &Transfer<'_>, cx: &mut Context) {
        let address = (transfer.bus, transfer.device);
        if transfer.inward {
            match self.find(address) {
                Some(at) => self.devices[at].inward(transfer, &mut self.shared, cx),
                None if matches!(bot::inward(transfer), bot::Inward::Status(Some(_), _)) => {
                    cx.count(ORPHANED);
                }
                None => {}
            }
            return;
        }
        match bot::outward(transfer) {
            bot::Outward::Command(wrapper) => {
                if let Some(at) = self.find_or_add(address, cx) {
                    self.devices[at].wrapper(&wrapper, transfer, &mut self.shared, cx);
                }
            }
            bot::Outward::Cut => cx.drop_row(CUT),
            bot::Outward::Data => {
                let known = self.find(address);
                // A device uses one transport; what looks like the other one is data.
                let bulk_only = known.is_some_and(|at| self.devices[at].is_bulk_only());
                match uas::command(transfer).filter(|_| !bulk_only) {
                    Some(unit) => {
                        if let Some(at) = self.find_or_add(address, cx) {
                            self.devices[at].unit(&unit, transfer, &mut self.shared, cx);
                        }
                    }
                    None => {
                        if let Some(at) = known {
                            self.devices[at].outward(transfer, &mut self.shared);
                        }
                    }
                }
            }
        }
    }

    /// The next request, with its bytes if wanted and known. The caller must return them.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(Request, Option<Vec<u8>>)> {
        self.shared.arrivals.next()
    }

    /// Takes back the buffer of a request's bytes.
    pub(super) fn recycle(&mut self, bytes: Vec<u8>) {
        self.shared.store.recycle(bytes);
    }

    /// Ends the capture: gives up commands without an answer.
    pub(super) fn finish(&mut self, cx: &mut Context) {
        for _ in 0..self.shared.arrivals.give_up() {
            cx.drop_row(UNANSWERED);
        }
        if self.devices.is_empty() {
            cx.remark(NOTHING);
        }
    }

    #[inline]
    fn find(&mut self, address: Address) -> Option<usize> {
        if let Some((known, at)) = self.last
            && known == address
        {
            return Some(at);
        }
        let at = *self.by_address.get(&address)?;
        self.last = Some((address, at));
        Some(at)
    }

    fn find_or_add(&mut self, address: Address, cx: &mut Context) -> Option<usize> {
        if let Some(at) = self.find(address) {
            return Some(at);
        }
        let at = self.devices.len();
        if at >= MOST_DEVICES {
            cx.drop_row(TOO_MANY);
            return None;
        }
        self.devices.push(Device::new(address));
        self.by_address.insert(address, at);
        Some(at)
    }
}
