//! Tar archives: Tencent's traces come as `.tgz`, Cambridge's as a tar of gzipped files.

use std::io::{self, Read};

use super::unpack::{Archive, broken, cut};

/// Bytes of a block. A header is one block; contents are padded to whole blocks.
const BLOCK: usize = 512;

/// Offset of the magic in a header, for formats since POSIX 1988 (ustar, GNU, pax).
const MAGIC_AT: usize = 257;

/// The checksum field of a header, which is summed as if it were blanks.
const SUM: std::ops::Range<usize> = 148..156;

/// Longer extended headers are not searched for a size.
const LONGEST_HEADER: u64 = 1 << 20;

/// The regular files of an archive.
pub(super) struct Tar<R> {
    source: R,
    /// Bytes left of the current member, and of the padding after it.
    left: u64,
    padding: u64,
}

impl Tar<()> {
    /// Whether a file with this beginning is a tar archive.
    pub(super) fn begins(head: &[u8]) -> bool {
        let Some(header) = head.first_chunk::<BLOCK>() else { return false };
        // Before POSIX only the checksum identifies a header.
        let sum: u64 = header.iter().map(|&byte| u64::from(byte)).sum();
        let own: u64 = header[SUM].iter().map(|&byte| u64::from(byte)).sum();
        let blanks = SUM.len() as u64 * u64::from(b' ');
        let sums =
            octal(&header[SUM]).is_some_and(|found| found > 0 && found + own == sum + blanks);
        header[MAGIC_AT..].starts_with(b"ustar") || header[0] != 0 && sums
    }
}

impl<R: Read> Tar<R> {
    pub(super) fn new(source: R) -> Self {
        Tar { source, left: 0, padding: 0 }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.source.by_ref().take(bytes), &mut io::sink())?;
        if skipped == bytes { Ok(()) } else { Err(ends_early()) }
    }

    /// Reads the next header; `None` at the end of the archive.
    fn header(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let mut header = [0; BLOCK];
        let mut read = 0;
        while read < BLOCK {
            match self.source.read(&mut header[read..]) {
                // Some writers omit the blocks of zeros at the end.
                Ok(0) if read == 0 => return Ok(None),
                Ok(0) => return Err(ends_early()),
                Ok(n) => read += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if header.iter().all(|&byte| byte == 0) {
            // Padding follows. Reading it verifies that the archive is complete.
            io::copy(&mut self.source, &mut io::sink())?;
            return Ok(None);
        }
        Ok(Some(header))
    }
}

impl<R: Read + Send> Archive for Tar<R> {
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut extended = None;
        loop {
            self.skip(self.left + self.padding)?;
            (self.left, self.padding) = (0, 0);
            let Some(header) = self.header()? else { return Ok(None) };
            let own = size(&header[124..136])?;
            // An extended header gives a size that does not fit the header of its file.
            let size = match header[156] {
                b'0' | 0 => extended.take().unwrap_or(own),
                _ => own,
            };
            self.left = size;
            self.padding = size.next_multiple_of(BLOCK as u64) - size;
            match header[156] {
                // '0' or NUL is a regular file. Others describe files or have no content.
                b'0' | 0 => {
                    let name = header[..100].split(|&b| b == 0).next().unwrap_or_default();
                    return Ok(Some(String::from_utf8_lossy(name).into_owned()));
                }
                b'x' if size <= LONGEST_HEADER => {
                    let mut records = Vec::new();
                    let read = self.source.by_ref().take(size).read_to_end(&mut records)?;
                    self.left -= read as u64;
                    extended = records.split(|&b| b == b'\n').find_map(size_of_record);
                }
                _ => {}
            }
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let most = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.source.read(&mut into[..most])?;
        if read == 0 && most > 0 {
            return Err(ends_early());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

fn ends_early() -> io::Error {
    cut("tar archive")
}

/// The size in a record such as `21 size=10000000000`.
fn size_of_record(record: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(record).ok()?;
    let size = text.split_once(' ')?.1.strip_prefix("size=")?.parse().ok()?;
    (size < 1 << 60).then_some(size)
}

/// Parses an octal number, with blanks and NULs around it.
fn octal(field: &[u8]) -> Option<u64> {
    let text = field.split(|&b| b == 0).next().unwrap_or_default().trim_ascii();
    match std::str::from_utf8(text).ok()? {
        "" => Some(0),
        text => u64::from_str_radix(text, 8).ok(),
    }
}

/// Parses a size, octal or, for large files, binary with the highest bit set.
fn size(field: &[u8]) -> io::Result<u64> {
    let size = if field[0] & 0x80 != 0 {
        field[1..].iter().try_fold(0_u64, |size, &b| Some(size.checked_mul(256)? + u64::from(b)))
    } else {
        octal(field)
    };
    // Far below 2^64, so that padding cannot overflow.
    size.filter(|&size| size < 1 << 60).ok_or_else(|| {
        broken("a header of the tar archive has no valid size", "fetch the file again")
    })
}
