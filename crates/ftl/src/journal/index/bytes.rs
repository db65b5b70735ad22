//! Numbers read one after another from the bytes of a page, the lowest byte first.

use alloc::vec::Vec;

/// The bytes that are not read yet.
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// `count` times what `one` reads.
    pub(super) fn many<T>(
        &mut self,
        count: u32,
        one: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        // No page holds more than it has bytes.
        if count as usize > self.0.len() {
            return None;
        }
        (0..count).map(|_| one(self)).collect()
    }
}
