//! Zoned devices in the registry of media.

use std::{path::Path, sync::Arc};

use super::{Zoned, block::Block, device::Device, file::ZonedFile};
use crate::{MediumEntry, MediumError, OpenChip, OpenedChip};

pub(crate) const ENTRY: MediumEntry = MediumEntry {
    scheme: "zoned",
    pattern: "zoned:/dev/NODE",
    example: "zoned:/dev/nvme0n2",
    summary: "a zoned block device, or a file that emulates one",
    takes_path: true,
    create: None,
    open: Some(open),
    room: None,
};

fn open(path: &Path, how: &OpenChip) -> Result<OpenedChip, MediumError> {
    let device: Arc<dyn Device> = match Block::open(path, how.read_only)? {
        Some(device) => Arc::new(device),
        None => Arc::new(ZonedFile::open(path, how.read_only)?),
    };
    let chip = Zoned::over(path, device, how.read_only, how.system_blocks)?;
    Ok(OpenedChip { chip: Box::new(chip), description: None })
}
