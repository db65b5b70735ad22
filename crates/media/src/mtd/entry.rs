//! Raw NAND in the registry of media.

use std::path::Path;

use super::{Mtd, MtdOptions};
use crate::{MediumEntry, MediumError, OpenChip, OpenedChip};

pub(crate) const ENTRY: MediumEntry = MediumEntry {
    scheme: "mtd",
    pattern: "mtd:/dev/mtdN",
    example: "mtd:/dev/mtd0",
    summary: "a raw NAND device",
    takes_path: true,
    create: None,
    open: Some(open),
    room: None,
};

fn open(path: &Path, how: &OpenChip) -> Result<OpenedChip, MediumError> {
    let options = MtdOptions {
        read_only: how.read_only,
        system_blocks: how.system_blocks,
        ..MtdOptions::default()
    };
    let mtd = Mtd::open(path, &options).map_err(|e| MediumError::Unusable(e.to_string()))?;
    Ok(OpenedChip { chip: Box::new(mtd), description: None })
}
