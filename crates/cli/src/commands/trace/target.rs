//! The file a trace is written to: its format, its compression, and that it is whole.

use std::{
    cell::RefCell,
    io::{self, BufWriter, Write},
    path::Path,
};

use flate2::write::GzEncoder;
use thermocline_sim::SimError;
use thermocline_trace::{
    Source, TraceError,
    write::{FioVersion, OutputFormat},
};

use crate::{args::trace::TargetArgs, exit::Failure, interrupt, output::Output};

/// Requests written together.
const BATCH: usize = 4096;

/// An open file for a trace.
pub struct Target<'a> {
    args: &'a TargetArgs,
    format: OutputFormat,
    stream: Stream,
}

impl<'a> Target<'a> {
    /// Opens it, so that an error appears before the work.
    pub fn open(args: &'a TargetArgs) -> Result<Self, Failure> {
        let format = format(args)?;
        let output = Output::open(Some(&args.out))?;
        if format == OutputFormat::Native && output.is_terminal() {
            return Err(Failure::usage(
                "the native format is binary and standard output is a terminal; name a file",
            ));
        }
        Ok(Self { args, format, stream: Stream::new(output, &args.out)? })
    }

    /// Writes everything `source` delivers, recorded on this kind of device, and makes the file appear; returns the
    /// number of requests.
    pub fn write(self, source: &mut dyn Source, device: Option<&str>) -> Result<u64, Failure> {
        let Self { args, format, stream } = self;
        // The writer borrows the stream, which must be ended after it.
        let stream = RefCell::new(stream);
        let mut writer =
            format.writer(Shared(&stream), &args.out, device).map_err(|e| failed(e, args))?;
        let (mut batch, mut requests) = (Vec::new(), 0);
        loop {
            source.next_batch(&mut batch, BATCH)?;
            if interrupt::progress().is_cancelled() {
                return Err(SimError::Interrupted.into());
            }
            if batch.is_empty() {
                break;
            }
            requests += batch.len() as u64;
            writer.write_batch(&batch, source.volumes()).map_err(|e| failed(e, args))?;
        }
        writer.finish().map_err(|e| failed(e, args))?;
        drop(writer);
        stream.into_inner().finish()?;
        Ok(requests)
    }
}

/// The format named, or the one the extension stands for.
fn format(args: &TargetArgs) -> Result<OutputFormat, Failure> {
    if let Some(format) = args.to {
        return Ok(format);
    }
    let name = args.out.to_string_lossy();
    let plain = Compression::of(&args.out).strip(&name);
    match plain.rsplit_once('.').map(|(_, extension)| extension) {
        Some("tct") => Ok(OutputFormat::Native),
        Some("csv") => Ok(OutputFormat::Csv),
        Some("fio") => Ok(OutputFormat::Fio(FioVersion::V2)),
        _ => Err(Failure::usage(format!(
            "the name {name} does not determine the format; give --to native, csv, fio or fio-v3, \
             or use an extension .tct, .csv or .fio"
        ))),
    }
}

fn failed(error: TraceError, args: &TargetArgs) -> Failure {
    match error {
        TraceError::Io { source, .. } => {
            Failure::Write { target: args.out.display().to_string(), source }
        }
        other => other.into(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Zstd,
    Gzip,
}

impl Compression {
    fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("zst") => Self::Zstd,
            Some("gz") => Self::Gzip,
            _ => Self::None,
        }
    }

    fn strip(self, name: &str) -> &str {
        let suffix = match self {
            Self::None => "",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        };
        name.strip_suffix(suffix).unwrap_or(name)
    }
}

/// An output, compressed on the way.
enum Stream {
    Plain(BufWriter<Output>),
    Zstd(zstd::Encoder<'static, BufWriter<Output>>),
    Gzip(GzEncoder<BufWriter<Output>>),
}

impl Stream {
    fn new(output: Output, path: &Path) -> Result<Self, Failure> {
        let buffered = BufWriter::with_capacity(1 << 20, output);
        Ok(match Compression::of(path) {
            Compression::None => Self::Plain(buffered),
            Compression::Gzip => {
                Self::Gzip(GzEncoder::new(buffered, flate2::Compression::default()))
            }
            Compression::Zstd => {
                let encoder = zstd::Encoder::new(buffered, zstd::DEFAULT_COMPRESSION_LEVEL);
                Self::Zstd(encoder.map_err(|source| Failure::Write {
                    target: path.display().to_string(),
                    source,
                })?)
            }
        })
    }

    /// Ends the compression and makes the file appear.
    fn finish(self) -> Result<(), Failure> {
        let target = match &self {
            Self::Plain(out) => out.get_ref(),
            Self::Zstd(out) => out.get_ref().get_ref(),
            Self::Gzip(out) => out.get_ref().get_ref(),
        }
        .name()
        .to_owned();
        let failed = |source| Failure::Write { target: target.clone(), source };
        let buffered = match self {
            Self::Plain(out) => out,
            Self::Zstd(out) => out.finish().map_err(failed)?,
            Self::Gzip(out) => out.finish().map_err(failed)?,
        };
        buffered.into_inner().map_err(|e| failed(e.into_error()))?.finish()
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(out) => out,
            Self::Zstd(out) => out,
            Self::Gzip(out) => out,
        }
    }
}

/// A stream in use by a writer.
struct Shared<'a>(&'a RefCell<Stream>);

impl Write for Shared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        // The stream is flushed once, when it is finished.
        Ok(())
    }
}
