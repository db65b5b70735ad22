use super::{Old, Placement};

/// What the host writes is hot, what survives cleaning is cold (update-interval paper §2, reference 9; the simulator's
/// `hot-cold`).
#[derive(Clone, Copy, Debug, Default)]
pub struct HotCold;

impl Placement for HotCold {
    fn streams(&self) -> u8 {
        2
    }

    fn host(&mut self, _: Option<Old>) -> u8 {
        0
    }

    fn survivor(&mut self, _: u8) -> u8 {
        1
    }
}
