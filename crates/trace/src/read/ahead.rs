//! Reads ahead in a separate thread, so that a trace is decompressed while earlier parts are
//! parsed.

use std::{
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    thread,
};

/// Bytes passed on at a time.
const PIECE: usize = 256 << 10;

/// Number of pieces that may wait. With the one being read and the one being filled they bound the
/// memory.
const WAITING: usize = 2;

/// The bytes of another reader, read by a thread. The thread ends at the end of the bytes, with the
/// first error, or when the receiver is dropped.
pub(crate) struct Ahead {
    full: Receiver<io::Result<Vec<u8>>>,
    empty: Sender<Vec<u8>>,
    piece: Vec<u8>,
    /// Number of bytes taken from the piece.
    taken: usize,
}

impl Ahead {
    /// Starts reading `source`.
    pub(crate) fn new(source: impl Read + Send + 'static) -> io::Result<Self> {
        let (send, full) = sync_channel(WAITING);
        let (empty, spare) = channel();
        let read = move || {
            // Without this, a panic would look like the end of the bytes.
            let read = catch_unwind(AssertUnwindSafe(|| pass_on(source, &send, &spare)));
            if read.is_err() {
                let _ = send.send(Err(io::Error::other("the decompressor panicked")));
            }
        };
        thread::Builder::new().name("decompress".into()).spawn(read)?;
        Ok(Self { full, empty, piece: Vec::new(), taken: 0 })
    }
}

fn pass_on(
    mut source: impl Read,
    full: &SyncSender<io::Result<Vec<u8>>>,
    spare: &Receiver<Vec<u8>>,
) {
    loop {
        let mut piece = spare.try_recv().unwrap_or_default();
        piece.resize(PIECE, 0);
        let read = source.read(&mut piece);
        let ended = match read {
            Ok(bytes) => {
                piece.truncate(bytes);
                bytes == 0
            }
            Err(ref error) => error.kind() != io::ErrorKind::Interrupted,
        };
        if full.send(read.map(|_| piece)).is_err() || ended {
            return;
        }
    }
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.len() {
            // The thread has ended; it has passed on its error or all bytes.
            let Ok(next) = self.full.recv() else { return Ok(0) };
            let used = std::mem::replace(&mut self.piece, next?);
            self.taken = 0;
            // At its end the thread takes no more buffers.
            let _ = self.empty.send(used);
        }
        let bytes = into.len().min(self.piece.len() - self.taken);
        into[..bytes].copy_from_slice(&self.piece[self.taken..self.taken + bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_the_error_behind_them_arrive_in_order() {
        let bytes: Vec<u8> = (0..3 * PIECE + 17).map(|i| (i % 251) as u8).collect();
        let mut found = Vec::new();
        let whole = Ahead::new(io::Cursor::new(bytes.clone())).expect("a thread");
        assert_eq!({ whole }.read_to_end(&mut found).ok(), Some(bytes.len()));
        assert_eq!(found, bytes);

        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::new(io::ErrorKind::InvalidData, "damaged"))
            }
        }
        let mut cut = Ahead::new(io::Cursor::new(vec![7; 100]).chain(Fails)).expect("a thread");
        let mut found = Vec::new();
        let error = cut.read_to_end(&mut found).expect_err("damaged");
        assert_eq!((found.len(), error.kind()), (100, io::ErrorKind::InvalidData));
        // Dropping the reader stops the thread.
        let mut endless = Ahead::new(io::repeat(1)).expect("a thread");
        assert_eq!(endless.read(&mut [0; 8]).ok(), Some(8));
    }
}
