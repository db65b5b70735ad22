//! By libzstd.

use std::io::{self, BufRead, Read};

use zstd::bulk;

/// Beyond level 3, a better ratio costs more time than reading a text trace.
const LEVEL: i32 = 3;

pub(crate) struct Compressor(bulk::Compressor<'static>);

impl Compressor {
    pub(crate) fn new() -> io::Result<Self> {
        bulk::Compressor::new(LEVEL).map(Self)
    }

    /// Replaces `into` by the compressed bytes.
    pub(crate) fn compress(&mut self, bytes: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        into.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        self.0.compress_to_buffer(bytes, into).map(drop)
    }
}

pub(crate) struct Decompressor(bulk::Decompressor<'static>);

impl Decompressor {
    pub(crate) fn new() -> io::Result<Self> {
        bulk::Decompressor::new().map(Self)
    }

    /// Replaces `into` by the decompressed bytes, of which there are `length`.
    pub(crate) fn decompress(
        &mut self,
        bytes: &[u8],
        length: usize,
        into: &mut Vec<u8>,
    ) -> io::Result<()> {
        into.clear();
        into.reserve(length);
        self.0.decompress_to_buffer(bytes, into).map(drop)
    }
}

/// The frames of a stream, one behind another.
pub(crate) fn decoder(packed: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(zstd::Decoder::with_buffer(packed)?))
}
