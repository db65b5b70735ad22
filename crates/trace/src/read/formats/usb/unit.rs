//! A logical unit: its name, and its sector size.

use super::{
    scsi::{self, Blocks},
    transfer::Address,
};
use crate::{Op, read::context::Context};

/// Why commands yield no request; completes "3 rows left out: …".
const EMPTY: &str = "reads, writes and trims of 0 sectors";
pub(super) const TOO_FAR: &str = "commands to sectors past the end of any device";

/// Warning for the user, after a count.
const ASSUMED: &str = "units whose sector size the capture does not tell, taken for 512 bytes \
     (plug the disk in while capturing, or say ‹sector-size›)";

/// A logical unit.
#[derive(Debug)]
pub(super) struct Unit {
    lun: u16,
    /// Bytes of a sector, once known from the capture.
    sector: Option<u64>,
    /// Size of the unit in bytes, once known.
    disk: Option<u64>,
    assumed: bool,
}

impl Unit {
    pub(super) fn new(lun: u16) -> Unit {
        Unit { lun, sector: None, disk: None, assumed: false }
    }

    pub(super) fn lun(&self) -> u16 {
        self.lun
    }

    /// Stores the sector size and the size of the unit as reported by the device, if plausible.
    pub(super) fn set_capacity(&mut self, sector: Option<u64>, disk: Option<u64>) {
        self.sector = sector.or(self.sector);
        self.disk = disk.or(self.disk);
    }

    /// Size of the unit in bytes, unless the user gave the sector size.
    pub(super) fn disk(&self, cx: &Context) -> Option<u64> {
        self.disk.filter(|_| !cx.sector_is_given())
    }

    /// The byte range of a command, or why it yields no request.
    pub(super) fn place(
        &mut self,
        op: Op,
        blocks: Blocks,
        length: Option<u64>,
        cx: &mut Context,
    ) -> Result<(Op, u64, u64), &'static str> {
        if blocks.count == 0 {
            return Err(EMPTY);
        }
        let (offset, len) = self.bytes(blocks, length, cx).ok_or(TOO_FAR)?;
        Ok((op, offset, len))
    }

    /// Offset and length in bytes; `None` beyond 2^64.
    pub(super) fn bytes(
        &mut self,
        blocks: Blocks,
        length: Option<u64>,
        cx: &mut Context,
    ) -> Option<(u64, u64)> {
        let sector = self.sector(blocks.count, length, cx);
        let offset = blocks.first.checked_mul(sector)?;
        let len = blocks.count.checked_mul(sector)?;
        offset.checked_add(len)?;
        Some((offset, len))
    }

    /// Bytes in a sector: by the user, else by the disk, else by the length that the host expects
    /// for this many sectors.
    fn sector(&mut self, count: u64, length: Option<u64>, cx: &mut Context) -> u64 {
        if self.sector.is_none()
            && let Some(length) = length
            && length.is_multiple_of(count)
        {
            self.sector = scsi::sector(length / count);
        }
        if self.sector.is_none() && !self.assumed && !cx.sector_is_given() {
            self.assumed = true;
            cx.count(ASSUMED);
        }
        self.sector.map_or_else(|| cx.sector(), |own| cx.sector_or(own))
    }
}

/// The volume of a logical unit: `bus.device`, with `.unit` for all but the first.
pub(super) fn volume((bus, device): Address, lun: u16, cx: &mut Context) -> u32 {
    let mut key = [0; 8];
    key[..4].copy_from_slice(&bus.map_or(u32::MAX, u32::from).to_le_bytes());
    key[4..6].copy_from_slice(&lun.to_le_bytes());
    key[6..].copy_from_slice(&device.to_le_bytes());
    cx.volumes.index(&key, |_| {
        let bus = bus.map(|bus| format!("{bus}.")).unwrap_or_default();
        let lun = if lun == 0 { String::new() } else { format!(".{lun}") };
        format!("{bus}{device}{lun}")
    })
}
