//! Detects compression by magic bytes, decompresses, and explains failures.

use std::{
    fmt,
    io::{self, BufReader, Read},
};

use super::unpack::{broken, cut, is_told};
use crate::zstd;

/// Bytes read ahead of the decompressor.
const AHEAD: usize = 256 << 10;

/// A compression method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Plain,
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    /// Detects the compression from the first bytes, 10 if there are as many.
    pub(super) fn of(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, 8, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            // A skippable frame: pzstd and seekable zstd files begin with one.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            // "BZh" alone may be text. The digits of π (a block) or √π (the empty stream) follow.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, ..] => Compression::Bzip2,
            _ => Compression::Plain,
        }
    }

    /// Decompresses `packed`. Concatenated members, frames and streams are read as one.
    pub(super) fn decoder(
        self,
        packed: impl Read + Send + 'static,
    ) -> io::Result<Box<dyn Read + Send>> {
        let packed = BufReader::with_capacity(AHEAD, packed);
        let decoder: Box<dyn Read + Send> = match self {
            Compression::Plain => Box::new(packed),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            Compression::Zstd => zstd::decoder(packed)?,
            #[cfg(feature = "xz")]
            Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(packed)),
            #[cfg(feature = "bzip2")]
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(packed)),
            #[cfg(not(all(feature = "xz", feature = "bzip2")))]
            unsupported => {
                let what = format!("this build does not read {unsupported}");
                return Err(broken(what, "unpack the file"));
            }
        };
        Ok(Box::new(Decoder { compression: self, decoder }))
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

/// A decompressor whose errors name the compression.
struct Decoder {
    compression: Compression,
    decoder: Box<dyn Read + Send>,
}

impl Read for Decoder {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(into).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ if is_told(&error) => error,
            io::ErrorKind::UnexpectedEof => cut(format!("{} stream", self.compression)),
            _ => broken(
                format!("the {} stream is damaged ({error})", self.compression),
                "fetch the file again, or compare its checksum with its source's",
            ),
        })
    }
}
