//! A chip in memory of which every fiftieth block is bad from the factory, as of the worst chips that are sold.

use std::path::Path;

use thermocline_flash::BlockId;

use crate::{Medium, MediumEntry, MediumError, NewChip, Ram};

/// Good blocks between two bad ones, and one.
const EVERY: usize = 50;

pub(crate) const ENTRY: MediumEntry = MediumEntry {
    scheme: "worn",
    pattern: "worn:",
    example: "worn:",
    summary: "a chip in memory with bad blocks",
    takes_path: false,
    create: Some(create),
    open: None,
};

fn create(_: &Path, new: &NewChip) -> Result<Box<dyn Medium>, MediumError> {
    let bad: Vec<_> = (0..new.geometry.blocks()).step_by(EVERY).map(BlockId).collect();
    let ram = Ram::try_new(new.geometry, new.rules);
    let ram = ram.map_err(|e| MediumError::Failed(format!("no memory for the chip: {e}")))?;
    Ok(Box::new(ram.with_bad_blocks(&bad)))
}
