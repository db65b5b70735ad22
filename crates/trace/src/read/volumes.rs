//! Volumes of a trace, numbered in the order of their first appearance.

use rustc_hash::FxHashMap;

/// Slots of the cache in front of the table; a power of two, and more than most traces have
/// volumes.
const SLOTS: usize = 1024;

/// The names so far, and the index of each.
///
/// Rows of many volumes may be interleaved, and each needs its index. A direct-mapped cache finds
/// most of them with one comparison, for short names without another memory access.
#[derive(Debug)]
pub(crate) struct Volumes {
    names: Vec<String>,
    keys: Vec<Box<[u8]>>,
    by_key: FxHashMap<Box<[u8]>, u32>,
    /// Size of each in bytes, if the trace gives it.
    bytes: Vec<Option<u64>>,
    /// The last volume of each slot.
    slots: Box<[Slot; SLOTS]>,
}

/// A cached volume.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The last eight bytes of its key, or the whole key.
    tail: u64,
    /// Length of its key; an unused slot has an impossible one.
    length: usize,
    index: u32,
}

impl Default for Volumes {
    fn default() -> Volumes {
        Volumes {
            names: Vec::new(),
            keys: Vec::new(),
            by_key: FxHashMap::default(),
            bytes: Vec::new(),
            slots: Box::new([Slot { tail: 0, length: usize::MAX, index: 0 }; SLOTS]),
        }
    }
}

impl Volumes {
    /// The index of the volume with the key `key` in the trace. `name` formats its name.
    #[inline]
    pub(crate) fn index(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> u32 {
        let tail = tail(key);
        let slot = place(tail);
        let Slot { tail: known, length, index } = self.slots[slot];
        let alike = known == tail && length == key.len();
        if alike && (length <= 8 || *self.keys[index as usize] == *key) {
            return index;
        }
        self.look_up(key, slot, name)
    }

    /// [`Volumes::index`] for a key that is its own name.
    #[inline]
    pub(crate) fn named(&mut self, key: &[u8]) -> u32 {
        self.index(key, |key| String::from_utf8_lossy(key).into_owned())
    }

    /// [`Volumes::index`] for binary traces, with a number and its formatter.
    #[inline]
    pub(crate) fn numbered(&mut self, number: u32, name: impl FnOnce(u32) -> String) -> u32 {
        self.index(&number.to_le_bytes(), |_| name(number))
    }

    /// Records the size of a volume as given by the trace. Of several sizes the largest counts.
    pub(crate) fn record_size(&mut self, index: u32, bytes: u64) {
        let index = index as usize;
        if self.bytes.len() <= index {
            self.bytes.resize(index + 1, None);
        }
        self.bytes[index] = self.bytes[index].max(Some(bytes));
    }

    /// The size of a volume in bytes, if the trace gives it.
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
        self.slots[slot] = Slot { tail: tail(key), length: key.len(), index };
        index
    }
}

/// The last eight bytes of a key, or all of a shorter one.
#[inline]
fn tail(key: &[u8]) -> u64 {
    if let Some(tail) = key.last_chunk() {
        return u64::from_le_bytes(*tail);
    }
    match (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        // The two overlap, but keys of the same length that are equal in both are equal.
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => key.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// The slot of a key. Its last bytes distinguish names that differ in a number.
#[inline]
fn place(tail: u64) -> usize {
    (tail.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
}
