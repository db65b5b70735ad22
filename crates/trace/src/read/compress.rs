//! Decompression by magic bytes, and what its failures mean to a person.

use std::{
    fmt,
    io::{self, BufReader, Cursor, Read},
    path::Path,
};

use super::{ahead::Ahead, tar};
use crate::{Place, TraceError};

/// Bytes read ahead of the decompressor.
const AHEAD: usize = 256 << 10;

/// The container a trace came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Plain,
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    /// Tells the container from the first bytes, 10 where there are as many.
    fn of(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, 8, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            // A skippable frame: pzstd and seekable zstd files begin with one.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            // "BZh" alone could be text: the digits of π (a block) or √π (the empty stream) follow.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, ..] => Compression::Bzip2,
            _ => Compression::Plain,
        }
    }

    /// The error of a read, told apart: the system's, or the compressed stream's.
    pub(crate) fn explain(self, path: &Path, error: io::Error) -> TraceError {
        let path = path.to_owned();
        if error.get_ref().is_some_and(|inner| inner.is::<tar::Cut>()) {
            return TraceError::Malformed {
                path,
                place: Place::Whole,
                what: tar::Cut.to_string(),
                remedy: "the file is truncated, fetch it again".into(),
            };
        }
        match error.downcast::<System>() {
            Ok(System(source)) => TraceError::Io { path, source },
            Err(source) if self == Compression::Plain => TraceError::Io { path, source },
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => TraceError::Malformed {
                path,
                place: Place::Whole,
                what: format!("the {self} stream ends early"),
                remedy: "the file is truncated, fetch it again".into(),
            },
            Err(source) => TraceError::Malformed {
                path,
                place: Place::Whole,
                what: format!("the {self} stream is damaged ({source})"),
                remedy: "fetch the file again, or compare its checksum with its source's".into(),
            },
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Plain => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
        })
    }
}

/// Wraps `raw` in the decompressor its first bytes ask for. Concatenated members, frames and
/// streams are read as one. A thread decompresses ahead of whoever reads.
pub(crate) fn decompressed(
    raw: impl Read + Send + 'static,
) -> io::Result<(Compression, Box<dyn Read + Send>)> {
    let mut raw = Marked(raw);
    let mut start = Vec::with_capacity(10);
    raw.by_ref().take(10).read_to_end(&mut start)?;
    let compression = Compression::of(&start);
    let whole = Cursor::new(start).chain(raw);
    let ahead = |whole| BufReader::with_capacity(AHEAD, whole);
    Ok((
        compression,
        match compression {
            Compression::Plain => Box::new(whole),
            Compression::Gzip => {
                Box::new(Ahead::new(flate2::bufread::MultiGzDecoder::new(ahead(whole)))?)
            }
            Compression::Zstd => Box::new(Ahead::new(zstd::Decoder::with_buffer(ahead(whole))?)?),
            #[cfg(feature = "xz")]
            Compression::Xz => {
                let decoder = liblzma::bufread::XzDecoder::new_multi_decoder(ahead(whole));
                Box::new(Ahead::new(decoder)?)
            }
            #[cfg(feature = "bzip2")]
            Compression::Bzip2 => {
                Box::new(Ahead::new(bzip2::bufread::MultiBzDecoder::new(ahead(whole)))?)
            }
            #[cfg(not(all(feature = "xz", feature = "bzip2")))]
            unsupported => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    format!("this build does not read {unsupported}; unpack the file"),
                ));
            }
        },
    ))
}

/// An error of the operating system, marked so that it is not taken for a damaged stream.
#[derive(Debug)]
struct System(io::Error);

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for System {}

/// Marks the errors of the reader inside.
struct Marked<R>(R);

impl<R: Read> Read for Marked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|error| match error.kind() {
            // The standard library retries this kind by looking at it.
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, System(error)),
        })
    }
}
