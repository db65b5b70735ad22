//! Erase counts of blocks, summed up.

use thermocline_flash::BlockId;

use crate::device::Device;

/// Blocks whose wear is looked at with the device in hand once.
pub(crate) const BLOCKS: u32 = 4096;
/// Erase counts up to 0, 1, 2, 4, 8 and so on, and beyond.
pub(crate) const CLASSES: usize = 22;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wear {
    pub blocks: u64,
    pub sum: u64,
    pub min: u32,
    pub max: u32,
    pub classes: [u64; CLASSES],
}

impl Wear {
    /// Of no blocks yet.
    pub(crate) fn none() -> Self {
        Self { min: u32::MAX, ..Self::default() }
    }

    /// The device is in hand for a few thousand blocks at a time only.
    pub(crate) fn of(device: &Device) -> Self {
        let mut wear = Self::none();
        let mut first = 0;
        while first < device.blocks() {
            let end = device.blocks().min(first + BLOCKS);
            device.look(|layer| {
                for block in (first..end).map(BlockId) {
                    wear.add(layer.inspect().erases(block));
                }
            });
            first = end;
        }
        wear.ended()
    }

    /// There are no more blocks.
    pub(crate) fn ended(self) -> Self {
        Self { min: self.min.min(self.max), ..self }
    }

    pub(crate) fn add(&mut self, erases: u32) {
        self.blocks += 1;
        self.sum += u64::from(erases);
        self.min = self.min.min(erases);
        self.max = self.max.max(erases);
        // 0, 1, 2, 3..4, 5..8 and so on.
        let class = match erases {
            0 => 0,
            n => (u32::BITS - (n - 1).leading_zeros()) as usize + 1,
        };
        self.classes[class.min(CLASSES - 1)] += 1;
    }

    pub(crate) fn mean(&self) -> f64 {
        if self.blocks == 0 { 0.0 } else { self.sum as f64 / self.blocks as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erase_counts_fall_into_classes_that_double() {
        let mut wear = Wear::none();
        for erases in [0, 1, 2, 3, 4, 5, 8, 9] {
            wear.add(erases);
        }
        assert_eq!(wear.classes[..6], [1, 1, 1, 2, 2, 1]);
        assert_eq!((wear.min, wear.max, wear.mean()), (0, 9, 4.0));
        wear.add(u32::MAX);
        assert_eq!(wear.classes[CLASSES - 1], 1);
    }
}
