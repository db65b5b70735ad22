//! JSON for programs, indented for people.

use serde::Serialize;

use crate::{exit::Failure, output::Output};

/// Prints any value.
pub fn print(value: &impl Serialize, output: Output) -> Result<(), Failure> {
    let written = serde_json::to_string_pretty(value).map_err(Into::into);
    let text = output.check(written)?;
    output.put((text + "\n").as_bytes())
}

/// Prints values one a line, for programs that read them one by one.
pub fn print_lines<T: Serialize>(values: &[T], output: Output) -> Result<(), Failure> {
    let mut text = String::new();
    for value in values {
        text += &output.check(serde_json::to_string(value).map_err(Into::into))?;
        text.push('\n');
    }
    output.put(text.as_bytes())
}
