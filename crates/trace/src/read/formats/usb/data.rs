//! The data stage of a command, assembled from its transfers.

/// Maximum length of a command whose bytes are kept.
pub(super) const LONGEST: u64 = 4 << 20;

/// Maximum number of bytes kept for all commands in progress or held back.
const MOST: usize = 64 << 20;

/// Number of buffers kept for reuse.
const SPARE: usize = 8;

/// The bytes held for all commands, and free buffers.
#[derive(Debug, Default)]
pub(super) struct Store {
    held: usize,
    spare: Vec<Vec<u8>>,
}

impl Store {
    /// Takes back a buffer for reuse.
    pub(super) fn recycle(&mut self, mut bytes: Vec<u8>) {
        self.held -= bytes.len();
        if bytes.capacity() > 0 && self.spare.len() < SPARE {
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

/// The data stage of one command. Its buffer must be returned to the store.
#[derive(Debug)]
pub(super) struct Stage {
    /// Number of bytes to keep.
    wanted: usize,
    bytes: Vec<u8>,
    /// Whether every byte so far was captured and kept.
    whole: bool,
}

impl Stage {
    /// A stage that keeps the first `wanted` bytes.
    pub(super) fn new(wanted: usize) -> Stage {
        Stage { wanted, bytes: Vec::new(), whole: true }
    }

    /// Adds a transfer of `length` bytes, of which `captured` were recorded.
    pub(super) fn add(&mut self, captured: &[u8], length: u64, store: &mut Store) {
        let room = self.wanted - self.bytes.len();
        if !self.whole || room == 0 {
            return;
        }
        let taken = &captured[..captured.len().min(room)];
        if store.held + taken.len() > MOST {
            self.whole = false;
            store.recycle(std::mem::take(&mut self.bytes));
            return;
        }
        if self.bytes.capacity() == 0 {
            self.bytes = store.spare.pop().unwrap_or_default();
        }
        self.bytes.extend_from_slice(taken);
        store.held += taken.len();
        self.whole = (taken.len() as u64) == length.min(room as u64);
    }

    /// The captured bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All wanted bytes, or `None`. The caller must return them to `store`.
    pub(super) fn finish(self, store: &mut Store) -> Option<Vec<u8>> {
        if self.whole && self.bytes.len() == self.wanted {
            Some(self.bytes)
        } else {
            store.recycle(self.bytes);
            None
        }
    }

    /// Drops the bytes.
    pub(super) fn forget(self, store: &mut Store) {
        store.recycle(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_make_up_a_command_if_each_is_whole() {
        let mut store = Store::default();
        let mut stage = Stage::new(6);
        stage.add(b"abcd", 4, &mut store);
        stage.add(b"efgh", 4, &mut store);
        let bytes = stage.finish(&mut store).expect("all six");
        assert_eq!((&bytes[..], store.held), (&b"abcdef"[..], 6));
        store.recycle(bytes);

        let mut cut = Stage::new(8);
        cut.add(b"abc", 4, &mut store);
        cut.add(b"efgh", 4, &mut store);
        assert_eq!(cut.bytes(), b"abc");
        assert_eq!(cut.finish(&mut store), None);
        assert_eq!((store.held, store.spare.len()), (0, 1));

        let mut short = Stage::new(8);
        short.add(b"abcd", 4, &mut store);
        assert_eq!(short.finish(&mut store), None, "half of it came");
    }

    #[test]
    fn what_all_commands_hold_is_bounded() {
        let mut store = Store::default();
        let chunk = vec![7; LONGEST as usize];
        let mut stages: Vec<_> = (0..20).map(|_| Stage::new(chunk.len())).collect();
        for stage in &mut stages {
            stage.add(&chunk, LONGEST, &mut store);
            assert!(store.held <= MOST);
        }
        let kept: Vec<_> =
            stages.into_iter().filter_map(|stage| stage.finish(&mut store)).collect();
        assert_eq!(kept.len(), MOST / chunk.len());
        kept.into_iter().for_each(|bytes| store.recycle(bytes));
        assert_eq!(store.held, 0);
    }
}
