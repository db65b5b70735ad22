//! JSON for programs, indented for people.

use serde::Serialize;

use crate::{exit::Failure, output::Output};

/// Prints any value.
pub fn print(value: &impl Serialize, output: Output) -> Result<(), Failure> {
    let written = serde_json::to_string_pretty(value).map_err(Into::into);
    let text = output.check(written)?;
    output.put((text + "\n").as_bytes())
}
