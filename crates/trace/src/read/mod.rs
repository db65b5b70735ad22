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

mod compress;
mod context;
mod decode;
mod detect;
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
mod refuse;
mod tar;
mod volumes;

use std::{
    io::Read,
    path::{Path, PathBuf},
};

pub use format::Format;
pub use options::{Action, ReadOptions, TimeUnit};
pub use reader::{Guess, Reader};

use crate::TraceError;
use context::Context;
use decode::Decode;
use detect::{LOOKED_AT, Sample};
use input::Input;

/// Opens a trace: a file, `-` for standard input, or the directory or common prefix of the
/// per-CPU files of blktrace.
///
/// # Errors
/// If the trace cannot be read, or its format cannot be told or used.
pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Reader, TraceError> {
    open_many(&[path], options)
}

/// Opens several files as one trace, merged by time: the files of blktrace's CPUs, or of the
/// volumes of MSR. Their clocks must be one, their formats too.
///
/// # Errors
/// As [`open`]; also if the files are of different formats.
pub fn open_many(paths: &[impl AsRef<Path>], options: &ReadOptions) -> Result<Reader, TraceError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        files::expand(path.as_ref(), &mut files)?;
    }
    let inputs = files.iter().map(|file| Input::open(file)).collect::<Result<Vec<_>, _>>()?;
    open_inputs(inputs, options)
}

/// Reads a trace from anything that can be read; `name` is what messages call it.
///
/// # Errors
/// As [`open`].
pub fn open_stream(
    stream: impl Read + Send + 'static,
    name: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<Reader, TraceError> {
    open_inputs(vec![Input::new(name.as_ref(), stream)?], options)
}

fn open_inputs(mut inputs: Vec<Input>, options: &ReadOptions) -> Result<Reader, TraceError> {
    for input in &mut inputs {
        input.prefetch(LOOKED_AT)?;
    }
    // A CPU that saw no request leaves an empty file, which tells nothing.
    let telling = inputs.iter().position(|input| !input.window().is_empty());
    let Some(first) = inputs.get_mut(telling.unwrap_or(0)) else {
        return Err(TraceError::Usage {
            what: "no trace is named".into(),
            remedy: "name a file, or - for standard input".into(),
        });
    };
    let guess = match &options.format {
        Some(format) => Guess { format: format.clone(), from: None },
        None => match detect::detect(&Sample::new(first.window()), first.path()) {
            Ok((entry, hit)) => Guess { format: Format::of(entry), from: Some(hit.from) },
            // Of a truncated archive too little may be left to tell the format.
            Err(unknown) => return Err(first.take_error().unwrap_or(unknown)),
        },
    };
    if options.sector_size == Some(0) {
        return Err(TraceError::Usage {
            what: "a sector of 0 bytes".into(),
            remedy: "give the size of a sector in bytes, such as 512".into(),
        });
    }
    let mut chosen = options.clone();
    if inputs.len() > 1 {
        check_alike(&inputs, &guess)?;
        chosen.action = chosen.action.or_else(|| formats::blktrace::common_action(&inputs));
    }
    let mut cx = Context::new(&chosen);
    let start = match guess.format.name() {
        name if name == formats::usb_pcap::ENTRY.name => formats::usb_pcap::common_start(&inputs),
        name if name == formats::usbmon::ENTRY.name => formats::usbmon::common_start(&inputs),
        _ => None,
    };
    if let Some(start) = start {
        cx.clock_start(start);
    }
    let mut sources = inputs
        .into_iter()
        .map(|input| guess.format.open(input, &cx))
        .collect::<Result<Vec<_>, _>>()?;
    let source: Box<dyn Decode> = match sources.len() {
        1 => sources.remove(0),
        _ => Box::new(merge::Merge::new(sources)),
    };
    Ok(Reader::new(source, cx, guess, options.invert_ops))
}

/// Refuses to merge files of different formats when the format is a guess.
fn check_alike(inputs: &[Input], guess: &Guess) -> Result<(), TraceError> {
    if guess.from.is_none() {
        return Ok(());
    }
    for input in inputs.iter().filter(|input| !input.window().is_empty()) {
        let (entry, _) = detect::detect(&Sample::new(input.window()), input.path())?;
        if entry.name != guess.format.name() {
            return Err(TraceError::Format {
                path: input.path().to_owned(),
                what: format!(
                    "this looks like {}, the first file like {}",
                    entry.name,
                    guess.format.name()
                ),
                remedy: "merge files of one format, or name it with --format".into(),
            });
        }
    }
    Ok(())
}
