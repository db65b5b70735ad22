//! Writers of traces.

mod csv;
mod fio;
mod text;
pub(crate) mod writer;

pub use csv::CsvWriter;
pub use fio::{FioIologWriter, FioVersion};
pub use writer::{TraceWriter, copy};

use crate::{TraceError, native::NativeWriter};
use std::{fmt, io::Write, path::Path, str::FromStr};

/// The output formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// The compact [native format](crate::native).
    Native,
    /// Comma-separated values.
    Csv,
    /// An iolog for `fio --read_iolog`.
    Fio(FioVersion),
}

impl OutputFormat {
    /// All formats, in the order of `--to`.
    pub const ALL: [OutputFormat; 4] = [
        OutputFormat::Native,
        OutputFormat::Csv,
        OutputFormat::Fio(FioVersion::V2),
        OutputFormat::Fio(FioVersion::V3),
    ];

    /// Begins a trace in this format. `path` is for messages. `device` is the profile nearest to
    /// that of the trace, which only the native format stores. Buffering is up to the caller.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    pub fn writer<'w>(
        self,
        out: impl Write + 'w,
        path: &Path,
        device: Option<&str>,
    ) -> Result<Box<dyn TraceWriter + 'w>, TraceError> {
        Ok(match self {
            OutputFormat::Native => Box::new(NativeWriter::recorded_on(out, path, device)?),
            OutputFormat::Csv => Box::new(CsvWriter::new(out, path)?),
            OutputFormat::Fio(version) => Box::new(FioIologWriter::new(out, path, version)?),
        })
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            OutputFormat::Native => "native",
            OutputFormat::Csv => "csv",
            OutputFormat::Fio(FioVersion::V2) => "fio",
            OutputFormat::Fio(FioVersion::V3) => "fio-v3",
        })
    }
}

impl FromStr for OutputFormat {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let name = text.trim().to_ascii_lowercase();
        let name = if name == "fio-v2" { "fio" } else { &name };
        OutputFormat::ALL.into_iter().find(|format| format.to_string() == name).ok_or_else(|| {
            TraceError::usage(
                format!("traces cannot be written as `{text}`"),
                "expected native, csv, fio (iolog version 2) or fio-v3",
            )
        })
    }
}
