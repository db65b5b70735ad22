//! Memory, in pieces: growth copies nothing, and a cut gives pieces back.

use std::{
    io::{self, ErrorKind, Write},
    sync::Arc,
};

/// Bytes of a piece.
const PIECE: usize = 1 << 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pieces: Arc<Vec<Box<[u8]>>>,
    length: u64,
}

impl Store {
    pub(super) fn create() -> io::Result<Self> {
        Ok(Self::default())
    }

    /// Overwrites bytes that are there.
    pub(super) fn write_at(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.has(at, bytes.len())?;
        let pieces = Arc::get_mut(&mut self.pieces).ok_or(ErrorKind::PermissionDenied)?;
        let mut rest = bytes;
        for (piece, within) in places(at, bytes.len()) {
            let (part, after) = rest.split_at(within.len());
            pieces[piece][within].copy_from_slice(part);
            rest = after;
        }
        Ok(())
    }

    pub(super) fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.has(at, into.len())?;
        let mut done = 0;
        for (piece, within) in places(at, into.len()) {
            let part = &self.pieces[piece][within];
            into[done..][..part.len()].copy_from_slice(part);
            done += part.len();
        }
        Ok(())
    }

    pub(super) fn cut(&mut self, length: u64) -> io::Result<()> {
        let pieces = Arc::get_mut(&mut self.pieces).ok_or(ErrorKind::PermissionDenied)?;
        pieces.truncate(length.div_ceil(PIECE as u64) as usize);
        self.length = self.length.min(length);
        Ok(())
    }

    pub(super) fn share(&self) -> io::Result<Self> {
        Ok(self.clone())
    }

    fn has(&self, at: u64, bytes: usize) -> io::Result<()> {
        let is_there = at.checked_add(bytes as u64).is_some_and(|end| end <= self.length);
        if is_there { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }
}

impl Write for Store {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let pieces = Arc::get_mut(&mut self.pieces).ok_or(ErrorKind::PermissionDenied)?;
        if pieces.len() as u64 * PIECE as u64 == self.length {
            let mut piece = Vec::new();
            piece.try_reserve_exact(PIECE).map_err(|_| ErrorKind::OutOfMemory)?;
            piece.resize(PIECE, 0);
            pieces.push(piece.into_boxed_slice());
        }
        let within = (self.length % PIECE as u64) as usize;
        let count = bytes.len().min(PIECE - within);
        if let Some(piece) = pieces.last_mut() {
            piece[within..][..count].copy_from_slice(&bytes[..count]);
        }
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The pieces in which these bytes lie, and where in each.
fn places(at: u64, bytes: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    let (mut at, mut left) = (at, bytes);
    std::iter::from_fn(move || {
        let within = (at % PIECE as u64) as usize;
        let count = left.min(PIECE - within);
        let piece = (at / PIECE as u64) as usize;
        (at, left) = (at + count as u64, left - count);
        (count > 0).then_some((piece, within..within + count))
    })
}

#[cfg(test)]
mod tests {
    use super::{super::file, *};

    #[test]
    fn memory_holds_what_a_file_holds() {
        let mut memory = Store::create().expect("memory");
        let mut file = file::Store::create().expect("a file");
        let bytes: Vec<u8> = (0..3 * PIECE + 12_345).map(|n| (n * 7 + n / 251) as u8).collect();
        for part in bytes.chunks(300_007) {
            memory.write_all(part).expect("appended");
            file.write_all(part).expect("appended");
        }
        for (part, at) in [(&[9; 1000][..], PIECE as u64 - 500), (&[5; 24], 0)] {
            memory.write_at(part, at).expect("written");
            file.write_at(part, at).expect("written");
        }
        let kept = bytes.len() / 2 + 3;
        memory.cut(kept as u64).expect("cut");
        file.cut(kept as u64).expect("cut");
        let (mut ours, mut theirs) = (vec![0; kept], vec![0; kept]);
        memory.share().expect("shared").read_at(&mut ours, 0).expect("read");
        file.share().expect("shared").read_at(&mut theirs, 0).expect("read");
        assert!(ours == theirs && ours[PIECE] == 9 && ours[0] == 5);
        assert!(memory.read_at(&mut [0; 2], kept as u64 - 1).is_err(), "beyond the end");
    }
}
