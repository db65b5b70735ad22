//! Volumes of a trace, numbered in the order of their first appearance.

use rustc_hash::FxHashMap;

/// The names met so far, and the index of each.
///
/// Traces name their volumes in runs, so the last one is looked at before the table.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    names: Vec<String>,
    by_key: FxHashMap<Box<[u8]>, u32>,
    last_key: Vec<u8>,
    last: u32,
}

impl Volumes {
    /// The index of the volume that the trace's bytes `key` stand for; `name` spells it for people.
    #[inline]
    pub(crate) fn index(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> u32 {
        if self.last_key == key && !self.names.is_empty() {
            return self.last;
        }
        self.look_up(key, name)
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

    /// All names, in the order of their indices.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    fn look_up(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> u32 {
        let index = match self.by_key.get(key) {
            Some(&index) => index,
            None => {
                let index = self.names.len() as u32;
                self.names.push(name(key));
                self.by_key.insert(key.into(), index);
                index
            }
        };
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.last = index;
        index
    }
}
