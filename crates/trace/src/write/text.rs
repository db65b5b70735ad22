//! Lines of text, collected before they are written.

use crate::TraceError;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Collects a batch's lines, so that one call writes them.
pub(super) struct Text<W> {
    out: W,
    pub path: PathBuf,
    pub line: Vec<u8>,
}

impl<W: Write> Text<W> {
    pub fn new(out: W, path: &Path) -> Self {
        Text { out, path: path.into(), line: Vec::new() }
    }

    pub fn push(&mut self, text: &str) {
        self.line.extend_from_slice(text.as_bytes());
    }

    /// Appends a decimal number. The standard formatting would take most of the time of a
    /// conversion.
    pub fn number(&mut self, mut value: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.line.extend_from_slice(&digits[at..]);
    }

    /// Writes the collected lines.
    pub fn write(&mut self) -> Result<(), TraceError> {
        let result = self.out.write_all(&self.line);
        self.line.clear();
        self.explain(result)
    }

    pub fn finish(&mut self) -> Result<(), TraceError> {
        self.write()?;
        let result = self.out.flush();
        self.explain(result)
    }

    fn explain(&self, result: io::Result<()>) -> Result<(), TraceError> {
        result.map_err(|source| TraceError::Io { path: self.path.clone(), source })
    }
}
