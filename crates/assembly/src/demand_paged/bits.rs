//! A bit for each logical page.

/// A bit set that counts its set bits.
#[derive(Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
    count: u32,
}

impl Bits {
    pub(super) fn new(bits: u32) -> Self {
        Self { words: vec![0; bits.div_ceil(64) as usize], count: 0 }
    }

    pub(super) fn has(&self, bit: u32) -> bool {
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, bit: u32) {
        self.count += u32::from(!self.has(bit));
        self.words[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    pub(super) fn unset(&mut self, bit: u32) {
        self.count -= u32::from(self.has(bit));
        self.words[(bit / 64) as usize] &= !(1 << (bit % 64));
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// The recounted number of set bits.
    pub(super) fn recount(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }
}
