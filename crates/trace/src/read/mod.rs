//! Readers of traces: every format in one stream of requests.
//!
//! [`open`] takes a path (or `-`), undoes its compression, guesses the format unless it was
//! named, and hands out requests in batches; memory does not grow with the trace. [`Format::all`]
//! lists the formats.
//!
//! ```no_run
//! use thermocline_trace::{Source, read};
//!
//! let mut reader = read::open("hm_0.csv.gz", &read::ReadOptions::default())?;
//! eprintln!("format: {}", reader.guess());
//! let mut batch = Vec::new();
//! loop {
//!     reader.next_batch(&mut batch, 4096)?;
//!     if batch.is_empty() {
//!         break;
//!     }
//! }
//! for warning in reader.warnings() {
//!     eprintln!("warning: {warning}");
//! }
//! # Ok::<(), thermocline_trace::TraceError>(())
//! ```

mod action;
mod ahead;
#[cfg(test)]
mod both_ways;
mod clock;
mod compress;
mod context;
mod dates;
mod decode;
mod detect;
mod entry;
mod fault;
mod fields;
mod files;
mod format;
mod formats;
mod input;
mod layout;
mod lines;
mod merge;
mod options;
mod reader;
mod row;
mod rwbs;
mod sample;
mod sniff;
mod source;
mod tar;
mod units;
mod unpack;
mod volumes;
mod zip;

use std::{
    io::Read,
    path::{Path, PathBuf},
};

pub use action::Action;
#[cfg(target_family = "wasm")]
pub use files::{Opener, open_by};
pub use format::Format;
pub use options::ReadOptions;
pub use reader::{Guess, Reader};
pub use units::TimeUnit;

use crate::{Source, TraceError, native::recorded_on};
use clock::Carried;
use context::Context;
use decode::Decode;
use entry::Setup;
use input::Input;
use merge::Merge;
use sample::{LOOKED_AT, Sample};

/// Opens a trace: a file, `-` for standard input or, for formats with several files, their
/// directory or their common prefix.
///
/// # Errors
/// If the trace cannot be read, or its format is not recognised or cannot be used.
pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Reader, TraceError> {
    open_many(&[path], options)
}

/// The format of a trace as determined by [`open`], from the beginning of its files.
///
/// # Errors
/// Those of [`open`].
pub fn recognise(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Guess, TraceError> {
    let mut files = Vec::new();
    files::expand(path.as_ref(), &mut files)?;
    let inputs = files.iter().map(|file| Input::open(file)).collect::<Result<Vec<_>, _>>();
    let mut inputs = inputs?;
    for input in &mut inputs {
        input.prefetch(LOOKED_AT)?;
    }
    let guess = guess(&mut inputs, options);
    inputs.into_iter().for_each(Input::looked_at);
    guess
}

/// Opens several files as one trace, merged by time: files of the processors or volumes of one
/// machine. They must share a clock and a format.
///
/// # Errors
/// Those of [`open`]; also if the files have different formats.
pub fn open_many(paths: &[impl AsRef<Path>], options: &ReadOptions) -> Result<Reader, TraceError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        files::expand(path.as_ref(), &mut files)?;
    }
    let inputs = files.iter().map(|file| Input::open(file)).collect::<Result<Vec<_>, _>>()?;
    open_inputs(inputs, options)
}

/// Reads a trace from a stream. `name` is its name in messages.
///
/// # Errors
/// Those of [`open`].
pub fn open_stream(
    stream: impl Read + Send + 'static,
    name: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<Reader, TraceError> {
    open_inputs(vec![Input::new(name.as_ref(), stream)?], options)
}

/// Reads a table in memory. `name` is its name in messages. Columns are described as for files, or
/// located by their names: `time` in nanoseconds, `op` in words or by number (0 read, 1 write, 2
/// trim, 3 flush), `offset` and `length` in bytes, and any name of a header line. Without
/// operations all requests are writes.
///
/// # Errors
/// If its columns do not make a trace, or the given format is not a description of columns.
#[cfg(feature = "tables")]
pub fn open_table(
    schema: &arrow_schema::Schema,
    batches: Vec<arrow_array::RecordBatch>,
    name: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<Reader, TraceError> {
    let reader = formats::in_memory(schema, batches, name.as_ref(), options)?;
    Ok(read_memory(reader, options))
}

/// Reads requests in memory unchanged.
///
/// # Errors
/// If a format is given.
pub fn open_source(
    source: impl Source + Send + 'static,
    options: &ReadOptions,
) -> Result<Reader, TraceError> {
    if let Some(format) = &options.format {
        return Err(formats::no_format(format));
    }
    Ok(read_memory(Box::new(source::Requests::new(source)), options))
}

fn read_memory(reader: Box<dyn Decode>, options: &ReadOptions) -> Reader {
    let cx = Context::new(options.sector_size, options.time_unit, options.skip_bad_lines);
    let guess = Guess::new(formats::memory(), None);
    Reader::new(Box::new(Carried::new(reader)), cx, guess, options.invert_ops)
}

fn open_inputs(mut inputs: Vec<Input>, options: &ReadOptions) -> Result<Reader, TraceError> {
    for input in &mut inputs {
        input.prefetch(LOOKED_AT)?;
    }
    let guess = guess(&mut inputs, options)?;
    if options.sector_size == Some(0) {
        return Err(TraceError::usage(
            "a sector of 0 bytes",
            "give the size of a sector in bytes, such as 512",
        ));
    }
    if inputs.len() > 1 {
        check_alike(&inputs, &guess, options)?;
    }
    let passed = inputs.iter().map(Input::passed).collect();
    let ReadOptions { action, time_unit, contents, .. } = *options;
    let opened =
        guess.format.open(Setup { inputs, argument: None, action, time_unit, contents })?;
    // Each file has its own clock, which is corrected before the merge.
    let carried =
        opened.into_iter().map(|reader| Box::new(Carried::new(reader)) as Box<dyn Decode>);
    let mut readers: Vec<_> = carried.collect();
    let source: Box<dyn Decode> = match readers.len() {
        1 => readers.remove(0),
        _ => Box::new(Merge::new(readers)),
    };
    let mut cx = Context::new(options.sector_size, options.time_unit, options.skip_bad_lines);
    cx.passed = passed;
    Ok(Reader::new(source, cx, guess, options.invert_ops))
}

/// The format of the files: the given one, or the one detected from the first file.
fn guess(inputs: &mut [Input], options: &ReadOptions) -> Result<Guess, TraceError> {
    // An empty file does not show its format.
    let telling = inputs.iter().position(|input| !input.window().is_empty());
    let Some(first) = inputs.get_mut(telling.unwrap_or(0)) else {
        return Err(TraceError::usage("no trace is named", "name a file, or - for standard input"));
    };
    let guess = match &options.format {
        Some(format) => Guess::new(format.clone(), None),
        // A truncated archive may have too little left to detect the format.
        None => detect::detect(&Sample::new(first.window()), first.path(), options)
            .map_err(|unknown| first.take_error().unwrap_or(unknown))?,
    };
    let device =
        recorded_on(first.window()).or_else(|| detect::disks(first.window(), &guess.format));
    Ok(Guess { device, ..guess })
}

/// Refuses to merge files of different formats if the format was guessed.
fn check_alike(inputs: &[Input], guess: &Guess, options: &ReadOptions) -> Result<(), TraceError> {
    if guess.from.is_none() {
        return Ok(());
    }
    for input in inputs.iter().filter(|input| !input.window().is_empty()) {
        let other = detect::detect(&Sample::new(input.window()), input.path(), options)?.format;
        if other.name() != guess.format.name() {
            return Err(TraceError::Format {
                path: input.path().to_owned(),
                what: format!(
                    "this looks like {}, the first file like {}",
                    other.name(),
                    guess.format.name()
                ),
                remedy: "merge files of one format, or name it with ‹trace-format›".into(),
            });
        }
    }
    Ok(())
}
