//! Zip archives, read sequentially, so that pipes work too.

use std::io::{self, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::unpack::{Archive, broken, cut};

/// Bytes read at a time.
const PIECE: usize = 64 << 10;

/// Magic number of a file's header.
const FILE: [u8; 4] = *b"PK\x03\x04";
/// Magic numbers of the directory after all files, and of the end of an archive without files.
const ENDS: [[u8; 4]; 4] = [*b"PK\x01\x02", *b"PK\x05\x06", *b"PK\x06\x06", *b"PK\x06\x08"];
/// Magic number that may precede the sizes after a file.
const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";

/// Flags of a header: encrypted, and sizes after the file.
const ENCRYPTED: u16 = 1;
const SIZES_FOLLOW: u16 = 8;

/// Marks a size that is in the header's extra field.
const ELSEWHERE: u32 = u32::MAX;

const DAMAGED: &str = "fetch the file again, or compare its checksum with its source's";

/// The files of an archive.
pub(super) struct Zip<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    current: Option<File>,
}

/// The current file.
struct File {
    name: String,
    data: Data,
    crc: Crc,
    /// The checksum in the header; `None` if it follows the file.
    sum: Option<u32>,
    is_large: bool,
}

enum Data {
    /// The number of bytes left.
    Stored(u64),
    Deflated(Box<Decompress>),
}

impl Zip<()> {
    /// Whether a file with this beginning is a zip archive.
    pub(super) fn begins(head: &[u8]) -> bool {
        head.starts_with(&FILE) || head.starts_with(&ENDS[1])
    }
}

impl<R: Read> Zip<R> {
    pub(super) fn new(source: R) -> Self {
        Zip { source, buffer: vec![0; PIECE], start: 0, end: 0, current: None }
    }

    /// Buffers this many bytes; false if the archive ends before.
    fn has(&mut self, bytes: usize) -> io::Result<bool> {
        while self.end - self.start < bytes {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Takes this many bytes.
    fn take<const BYTES: usize>(&mut self) -> io::Result<[u8; BYTES]> {
        if !self.has(BYTES)? {
            return Err(cut("zip archive"));
        }
        let mut taken = [0; BYTES];
        taken.copy_from_slice(&self.buffer[self.start..self.start + BYTES]);
        self.start += BYTES;
        Ok(taken)
    }

    fn take_all(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        (0..bytes).map(|_| self.take::<1>().map(|[byte]| byte)).collect()
    }

    /// Reads the header of a file after its magic number.
    fn header(&mut self) -> io::Result<File> {
        let header: [u8; 26] = self.take()?;
        let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(half(at)) | u32::from(half(at + 2)) << 16;
        let (flags, method) = (half(2), half(4));
        let (sum, packed, whole) = (word(10), word(14), word(18));
        let name = self.take_all(usize::from(half(22)))?;
        let name = String::from_utf8_lossy(&name).into_owned();
        let extra = self.take_all(usize::from(half(24)))?;
        let large = large_sizes(&extra);
        let packed = match (packed, large) {
            // The unpacked size precedes the packed one, if it is also in the extra field.
            (ELSEWHERE, Some(sizes)) => sizes[usize::from(whole == ELSEWHERE)],
            (packed, _) => u64::from(packed),
        };
        let unread =
            |why: &str| broken(format!("{name} in the zip archive is {why}"), "unpack the archive");
        if flags & ENCRYPTED != 0 {
            return Err(unread("encrypted"));
        }
        let follow = flags & SIZES_FOLLOW != 0;
        let data = match method {
            0 if follow && packed == 0 && !name.ends_with('/') => {
                return Err(unread("stored without its size"));
            }
            0 => Data::Stored(packed),
            8 => Data::Deflated(Box::new(Decompress::new(false))),
            9 => return Err(unread("packed by Deflate64, which is not read")),
            12 => return Err(unread("packed by bzip2 within zip, which is not read")),
            14 => return Err(unread("packed by LZMA within zip, which is not read")),
            93 => return Err(unread("packed by zstd within zip, which is not read")),
            other => return Err(unread(&format!("packed by method {other}, which is not read"))),
        };
        let sum = (!follow).then_some(sum);
        Ok(File { name, data, crc: Crc::new(), sum, is_large: large.is_some() })
    }

    /// Checks a file that has been read to its end, and consumes the sizes after it.
    fn finish(&mut self, file: &File) -> io::Result<()> {
        let sum = match file.sum {
            Some(sum) => sum,
            None => {
                let mut sum: [u8; 4] = self.take()?;
                if sum == DESCRIPTOR {
                    sum = self.take()?;
                }
                if file.is_large {
                    self.take::<16>().map(drop)?
                } else {
                    self.take::<8>().map(drop)?
                }
                u32::from_le_bytes(sum)
            }
        };
        if sum == file.crc.sum() {
            return Ok(());
        }
        Err(broken(format!("{} in the zip archive is damaged", file.name), DAMAGED))
    }
}

/// The unpacked and the packed size of a file in the extra field of its header.
fn large_sizes(extra: &[u8]) -> Option<[u64; 2]> {
    let mut rest = extra;
    while let [a, b, c, d, more @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*c, *d]));
        let (field, after) = more.split_at_checked(length)?;
        if [*a, *b] == [1, 0] {
            let size = |at: usize| field.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b));
            return Some([size(0)?, size(8).unwrap_or(size(0)?)]);
        }
        rest = after;
    }
    None
}

impl<R: Read + Send> Archive for Zip<R> {
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut scratch = vec![0; PIECE];
        while self.read(&mut scratch)? > 0 {}
        loop {
            let mark: [u8; 4] = self.take()?;
            if ENDS.contains(&mark) {
                io::copy(&mut self.source, &mut io::sink())?;
                return Ok(None);
            }
            if mark != FILE {
                return Err(broken("the zip archive is damaged between its files", DAMAGED));
            }
            let file = self.header()?;
            let name = file.name.clone();
            self.current = Some(file);
            if !name.ends_with('/') {
                return Ok(Some(name));
            }
            while self.read(&mut scratch)? > 0 {}
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let Some(mut file) = self.current.take() else { return Ok(0) };
        loop {
            let is_over = matches!(file.data, Data::Stored(0));
            if !is_over && !self.has(1)? {
                return Err(cut("zip archive"));
            }
            let packed = &self.buffer[self.start..self.end];
            let (used, read, is_over) = match &mut file.data {
                Data::Stored(left) => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    let bytes = into.len().min(packed.len()).min(most);
                    into[..bytes].copy_from_slice(&packed[..bytes]);
                    *left -= bytes as u64;
                    (bytes, bytes, is_over)
                }
                Data::Deflated(inflate) => {
                    let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
                    let status = inflate.decompress(packed, into, FlushDecompress::None);
                    let used = (inflate.total_in() - before_in) as usize;
                    let read = (inflate.total_out() - before_out) as usize;
                    let is_over = matches!(status, Ok(Status::StreamEnd));
                    if status.is_err() || used + read == 0 && !is_over {
                        let what = format!("{} in the zip archive is damaged", file.name);
                        return Err(broken(what, DAMAGED));
                    }
                    (used, read, is_over)
                }
            };
            self.start += used;
            file.crc.update(&into[..read]);
            if is_over {
                file.data = Data::Stored(0);
            }
            if read > 0 {
                self.current = Some(file);
                return Ok(read);
            }
            if is_over {
                self.finish(&file)?;
                return Ok(0);
            }
        }
    }
}
