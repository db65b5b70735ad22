//! A chip in memory whose blocks fail when they have been erased more often than rated: for trying what a server does
//! at the end of a chip's life.

use std::path::Path;

use crate::{Medium, MediumEntry, MediumError, NewChip, Ram};

pub(crate) const ENTRY: MediumEntry = MediumEntry {
    scheme: "worn",
    pattern: "worn:",
    example: "worn:",
    summary: "a chip in memory that wears out",
    takes_path: false,
    create: Some(create),
    open: None,
    room: None,
};

fn create(_: &Path, new: &NewChip) -> Result<Box<dyn Medium>, MediumError> {
    let ram = Ram::try_new(new.geometry, new.rules)
        .map_err(|e| MediumError::Failed(format!("{e}; take a smaller --capacity")))?;
    Ok(Box::new(ram.that_wears_out()))
}
