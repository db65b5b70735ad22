//! A logical unit: what it is called, and how large its sectors are.

use super::{
    scsi::{self, Blocks},
    transfer::Address,
};
use crate::{Op, read::context::Context};

/// Why commands make no request; completes "3 rows left out: …".
const EMPTY: &str = "reads, writes and trims of 0 sectors";
pub(super) const TOO_FAR: &str = "commands to sectors past the end of any device";

/// What the user should know; completed by a count.
const ASSUMED: &str = "units whose sector size the capture does not tell, taken for 512 bytes \
     (plug the disk in while capturing, or say ‹sector-size›)";

/// A logical unit.
#[derive(Debug)]
pub(super) struct Unit {
    lun: u16,
    /// Bytes of its sectors, once the capture has shown it.
    sector: Option<u64>,
    /// Bytes of all of them, likewise.
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

    /// The device has said how large its sectors are and how many it has, unless that was noise.
    pub(super) fn set_capacity(&mut self, sector: Option<u64>, disk: Option<u64>) {
        self.sector = sector.or(self.sector);
        self.disk = disk.or(self.disk);
    }

    /// Bytes of the whole unit, unless the user says of how many bytes a sector is.
    pub(super) fn disk(&self, cx: &Context) -> Option<u64> {
        self.disk.filter(|_| !cx.sector_is_given())
    }

    /// The bytes a command is about, or why no request can come of it.
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

    /// Offset and length in bytes; `None` if they are past 2^64.
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

    /// Bytes in a sector: what the user says, else what the disk said, else what the host expects
    /// to move for this many sectors.
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

/// The volume of a logical unit: `bus.device`, and `.unit` for all but the first.
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
