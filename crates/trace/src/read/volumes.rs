//! Volumes of a trace, numbered in the order of their first appearance.

use rustc_hash::FxHashMap;

/// Slots of the cache before the table; a power of two, and more than most traces have volumes.
const SLOTS: usize = 1024;

/// The names met so far, and the index of each.
///
/// Rows of many volumes may be mixed, and each needs its index: a direct-mapped cache finds most
/// of them by one comparison.
#[derive(Debug)]
pub(crate) struct Volumes {
    names: Vec<String>,
    keys: Vec<Box<[u8]>>,
    by_key: FxHashMap<Box<[u8]>, u32>,
    /// Bytes of each, as far as the trace tells.
    bytes: Vec<Option<u64>>,
    /// Index of the volume last met in each slot.
    slots: Box<[u32; SLOTS]>,
}

impl Default for Volumes {
    fn default() -> Volumes {
        Volumes {
            names: Vec::new(),
            keys: Vec::new(),
            by_key: FxHashMap::default(),
            bytes: Vec::new(),
            slots: Box::new([0; SLOTS]),
        }
    }
}

impl Volumes {
    /// The index of the volume that the trace's bytes `key` stand for; `name` spells it for people.
    #[inline]
    pub(crate) fn index(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> u32 {
        let slot = slot(key);
        let index = self.slots[slot];
        match self.keys.get(index as usize) {
            Some(known) if **known == *key => index,
            _ => self.look_up(key, slot, name),
        }
    }

    /// As [`Volumes::index`], for a key that is its own name.
    #[inline]
    pub(crate) fn named(&mut self, key: &[u8]) -> u32 {
        self.index(key, |key| String::from_utf8_lossy(key).into_owned())
    }

    /// As [`Volumes::index`], for binary traces: a number, and how to spell it.
    #[inline]
    pub(crate) fn numbered(&mut self, number: u32, name: impl FnOnce(u32) -> String) -> u32 {
        self.index(&number.to_le_bytes(), |_| name(number))
    }

    /// The trace says how large a volume is; of several sizes the largest counts.
    pub(crate) fn record_size(&mut self, index: u32, bytes: u64) {
        let index = index as usize;
        if self.bytes.len() <= index {
            self.bytes.resize(index + 1, None);
        }
        self.bytes[index] = self.bytes[index].max(Some(bytes));
    }

    /// Bytes of a volume, where the trace tells.
    pub(crate) fn bytes(&self, index: u32) -> Option<u64> {
        self.bytes.get(index as usize).copied().flatten()
    }

    /// All names, in the order of their indices.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    #[cold]
    fn look_up(&mut self, key: &[u8], slot: usize, name: impl FnOnce(&[u8]) -> String) -> u32 {
        let index = match self.by_key.get(key) {
            Some(&index) => index,
            None => {
                let index = self.names.len() as u32;
                self.names.push(name(key));
                self.keys.push(key.into());
                self.by_key.insert(key.into(), index);
                index
            }
        };
        self.slots[slot] = index;
        index
    }
}

/// The slot of a key: its last bytes tell names that differ in a number apart.
#[inline]
fn slot(key: &[u8]) -> usize {
    let tail = &key[key.len().saturating_sub(8)..];
    let word = tail.iter().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
}
