//! Turns counters of real drives, as tools print them, into a [`Measurement`]: bytes written by the host and bytes
//! programmed by the drive, over time.
//!
//! ```
//! use thermocline_measured::{Options, documents, import_texts};
//!
//! let csv = "seconds,host_bytes,physical_bytes\n0,100,120\n30,4100,8120\n60,8100,16120\n";
//! let imported = import_texts([("run.csv", csv)], &Options::default())?;
//! assert_eq!(imported.measurement.curve()?.last(), Some(&(8000, 16000)));
//! # Ok::<(), thermocline_measured::MeasuredError>(())
//! ```
//!
//! 1. [`documents`] split files: each printout of a tool is a document with its place and its time.
//! 2. [`formats`] read a document: its counters and their units ([`Reading`]).
//! 3. `series` sorts readings, undoes wraps, and finds resets and counters that stand still.
//!
//! Nothing here runs a tool or interprets a counter.

pub mod documents;
mod error;
pub mod formats;
mod measurement;
mod reading;
mod series;

use std::path::Path;

pub use error::MeasuredError;
pub use measurement::{Measurement, Point};
pub use reading::{Count, Place, Quantity, Reading};
pub use series::join;

/// Options of an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Seconds between two printouts, if their times are unknown.
    pub every: Option<f64>,
}

/// The result of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The measurement.
    pub measurement: Measurement,
    /// Remarks: wraps, resets, counters that stand still, assumed units.
    pub notes: Vec<String>,
}

/// Reads files, and folders of files, as one measurement.
///
/// # Errors
/// An unreadable or unknown input, with its place.
pub fn import<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    options: &Options,
) -> Result<Imported, MeasuredError> {
    let texts = documents::files(paths)?;
    finish(documents::split(&texts)?, options)
}

/// As [`import`], for texts with names.
///
/// # Errors
/// An unknown input, with its place.
pub fn import_texts<'a>(
    texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    options: &Options,
) -> Result<Imported, MeasuredError> {
    let text = |(name, text): (&str, &str)| documents::Text::of(name, text.to_owned());
    let texts: Vec<_> = texts.into_iter().map(text).collect();
    finish(documents::split(&texts)?, options)
}

fn finish(
    documents: Vec<documents::Document>,
    options: &Options,
) -> Result<Imported, MeasuredError> {
    let mut notes = Vec::new();
    let mut readings = Vec::new();
    for document in documents {
        readings.extend(formats::read(&document, &mut notes)?);
    }
    join(readings, options, notes)
}
