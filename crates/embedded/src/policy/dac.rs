use super::{Old, Placement};

/// Dynamic data clustering: a page rises a region when the host updates it and sinks one when it is cleaned (DAC
/// paper, Figures 1 and 2). The region of a page is that of its block, so no page needs memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dac<const REGIONS: u8 = 4>;

impl<const REGIONS: u8> Placement for Dac<REGIONS> {
    fn streams(&self) -> u8 {
        REGIONS
    }

    fn host(&mut self, old: Option<Old>) -> u8 {
        old.map_or(0, |old| (old.stream + 1).min(REGIONS - 1))
    }

    fn survivor(&mut self, stream: u8) -> u8 {
        stream.saturating_sub(1)
    }
}
