//! By `ruzstd`.

use std::{
    error::Error,
    io::{self, BufRead, ErrorKind, Read},
};

use ruzstd::{
    decoding::{
        BlockDecodingStrategy, FrameDecoder,
        errors::{FrameDecoderError, ReadFrameHeaderError},
    },
    encoding::{CompressionLevel, compress_to_vec},
};

/// The largest window that is allocated, as in libzstd.
const WINDOW: u64 = 1 << 27;

pub(crate) struct Compressor;

impl Compressor {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Replaces `into` by the compressed bytes.
    pub(crate) fn compress(&mut self, bytes: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        *into = compress_to_vec(bytes, CompressionLevel::Fastest);
        Ok(())
    }
}

pub(crate) struct Decompressor(FrameDecoder);

impl Decompressor {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(FrameDecoder::new()))
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
        self.0.decode_all_to_vec(bytes, into).map_err(failed)
    }
}

/// The frames of a stream, one behind another.
pub(crate) fn decoder(packed: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(WINDOW);
    Ok(Box::new(Frames { packed, decoder, is_within: false }))
}

struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
    /// Whether a frame has begun and not ended.
    is_within: bool,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_within && self.decoder.can_collect() > 0 {
                return self.decoder.read(into);
            }
            if !self.is_within {
                if self.packed.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.begin()?;
            } else if self.decoder.is_finished() {
                let sums =
                    (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
                if matches!(sums, (Some(told), Some(found)) if told != found) {
                    return Err(io::Error::other("its checksum does not match"));
                }
                self.is_within = false;
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.packed, one).map_err(failed)?;
            }
        }
    }
}

impl<R: BufRead> Frames<R> {
    /// Begins the next frame, or passes over one that holds no data.
    fn begin(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.packed) {
            Ok(()) => self.is_within = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = u64::from(length);
                let passed = io::copy(&mut self.packed.by_ref().take(length), &mut io::sink())?;
                if passed < length {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
            }
            Err(error) => return Err(failed(error)),
        }
        Ok(())
    }
}

/// The error of the stream below, or of the decoder.
fn failed(error: FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(at) = cause {
        if let Some(io) = at.downcast_ref::<io::Error>() {
            return io::Error::new(io.kind(), io.to_string());
        }
        cause = at.source();
    }
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{super::library, *};

    fn rows() -> Vec<u8> {
        (0..300_000_u64)
            .flat_map(|n| format!("{n},W,{},4096\n", n * 7919 % 65_521).into_bytes())
            .collect()
    }

    #[test]
    fn frames_of_the_library_are_read_one_behind_another() {
        let (one, two) = (rows(), b"the end\n".to_vec());
        let mut packed = zstd::encode_all(&one[..], 3).expect("compresses");
        // A frame that holds no data, as pzstd writes them.
        packed.extend([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
        packed.extend(zstd::encode_all(&two[..], 19).expect("compresses"));
        let mut read = Vec::new();
        let mut frames = decoder(Cursor::new(packed.clone())).expect("a decoder");
        frames.read_to_end(&mut read).expect("reads");
        assert!(read == [one, two].concat());
        packed.truncate(packed.len() / 2);
        let mut cut = decoder(Cursor::new(packed)).expect("a decoder");
        let error = cut.read_to_end(&mut Vec::new()).expect_err("it is cut");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn both_read_what_the_other_writes() {
        let rows = rows();
        let (mut packed, mut read) = (Vec::new(), Vec::new());
        Compressor::new().and_then(|mut it| it.compress(&rows, &mut packed)).expect("compresses");
        let mut library = library::Decompressor::new().expect("a decoder");
        library.decompress(&packed, rows.len(), &mut read).expect("reads");
        assert!(read == rows && packed.len() < rows.len());
        let mut library = library::Compressor::new().expect("an encoder");
        library.compress(&rows, &mut packed).expect("compresses");
        let mut pure = Decompressor::new().expect("a decoder");
        pure.decompress(&packed, rows.len(), &mut read).expect("reads");
        assert!(read == rows);
        assert!(pure.decompress(&packed[..packed.len() - 9], rows.len(), &mut read).is_err());
    }
}
