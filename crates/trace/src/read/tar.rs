//! The members of a tar archive, one after the other: Tencent's traces come as `.tgz`.

use std::{
    fmt,
    io::{self, Read},
};

/// Bytes of a block: headers are one, contents are padded to whole ones.
const BLOCK: usize = 512;

/// Where a header says what it is, for the formats since POSIX 1988 (ustar, GNU, pax).
const MAGIC_AT: usize = 257;

/// Reads `source`, or, if it is a tar archive, the contents of its regular files; a line end is
/// put between two files if the first lacks one.
pub(super) fn members(mut source: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    let mut head = Vec::with_capacity(BLOCK);
    let error = source.by_ref().take(BLOCK as u64).read_to_end(&mut head).err();
    let is_tar = head.len() == BLOCK && head[MAGIC_AT..].starts_with(b"ustar");
    let whole = Peeked { head, at: 0, error, source };
    if is_tar {
        Box::new(Members { source: whole, left: 0, padding: 0, last: b'\n', ended: false })
    } else {
        Box::new(whole)
    }
}

/// An archive that ends within a member.
#[derive(Debug)]
pub(super) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tar archive ends early")
    }
}

impl std::error::Error for Cut {}

/// A stream whose first bytes were looked at, and what came after them if that was an error.
struct Peeked {
    head: Vec<u8>,
    at: usize,
    error: Option<io::Error>,
    source: Box<dyn Read + Send>,
}

impl Read for Peeked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at < self.head.len() {
            let read = (&self.head[self.at..]).read(into)?;
            self.at += read;
            return Ok(read);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.source.read(into),
        }
    }
}

struct Members<R> {
    source: R,
    /// Bytes left of the current member, and of the padding after it.
    left: u64,
    padding: u64,
    /// The byte delivered last.
    last: u8,
    ended: bool,
}

impl<R: Read> Members<R> {
    /// Goes on to the next regular file; false at the end of the archive.
    fn next_file(&mut self) -> io::Result<bool> {
        loop {
            self.skip(self.padding)?;
            self.padding = 0;
            let mut header = [0; BLOCK];
            let mut read = 0;
            while read < BLOCK {
                match self.source.read(&mut header[read..]) {
                    // Some writers leave out the blocks of zeros at the end.
                    Ok(0) if read == 0 => return Ok(false),
                    Ok(0) => return Err(cut()),
                    Ok(n) => read += n,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            if header.iter().all(|&byte| byte == 0) {
                // What follows is padding; reading it finds out whether the archive is whole.
                io::copy(&mut self.source, &mut io::sink())?;
                return Ok(false);
            }
            let size = size(&header[124..136])?;
            let padding = size.next_multiple_of(BLOCK as u64) - size;
            // '0' or NUL is a regular file; all else describes files or has no content.
            if matches!(header[156], b'0' | 0) {
                (self.left, self.padding) = (size, padding);
                return Ok(true);
            }
            self.skip(size + padding)?;
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.source.by_ref().take(bytes), &mut io::sink())?;
        if skipped == bytes { Ok(()) } else { Err(cut()) }
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 {
            if self.ended {
                return Ok(0);
            }
            self.ended = !self.next_file()?;
            if !self.ended && self.last != b'\n' && !into.is_empty() {
                self.last = b'\n';
                into[0] = b'\n';
                return Ok(1);
            }
        }
        let most = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.source.read(&mut into[..most])?;
        if read == 0 && most > 0 {
            return Err(cut());
        }
        self.left -= read as u64;
        self.last = into[..read].last().copied().unwrap_or(self.last);
        Ok(read)
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, Cut)
}

/// A size in octal digits or, for large files, in binary with the highest bit set.
fn size(field: &[u8]) -> io::Result<u64> {
    let wrong = || io::Error::other("a tar header has no valid size");
    let size = if field[0] & 0x80 != 0 {
        field[1..].iter().try_fold(0_u64, |size, &b| Some(size.checked_mul(256)? + u64::from(b)))
    } else {
        let text = field.split(|&b| b == 0).next().unwrap_or_default().trim_ascii();
        std::str::from_utf8(text).ok().and_then(|text| match text {
            "" => Some(0),
            text => u64::from_str_radix(text, 8).ok(),
        })
    };
    // Far below 2^64, so that padding cannot overflow.
    size.filter(|&size| size < 1 << 60).ok_or_else(wrong)
}
