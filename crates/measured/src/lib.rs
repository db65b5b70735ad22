//! Counters of real drives, as tools print them, become a [`Measurement`]: bytes that the host wrote and bytes that
//! the drive programmed, over time.
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
//! 1. [`documents`] take files apart: each printout of a tool is a document with its place and its time.
//! 2. [`formats`] read a document: which counters are in it, in which units ([`Reading`]).
//! 3. `series` put readings in order, undo wraps, and find resets and counters that stand still.
//!
//! Nothing here runs a tool, or knows what a counter means for a translation layer.

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

/// What an import needs to know beside the files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Seconds between two printouts, where nothing else tells their times.
    pub every: Option<f64>,
}

/// What came of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The measurement.
    pub measurement: Measurement,
    /// What was found on the way: wraps, resets, counters that stand still, units that were assumed.
    pub notes: Vec<String>,
}

/// Reads files, and folders of files, as one measurement.
///
/// # Errors
/// What cannot be read or understood, with its place.
pub fn import<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    options: &Options,
) -> Result<Imported, MeasuredError> {
    let texts = documents::files(paths)?;
    finish(documents::split(&texts)?, options)
}

/// The same of texts with names.
///
/// # Errors
/// What cannot be understood, with its place.
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
