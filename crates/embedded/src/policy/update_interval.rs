use super::{Old, Placement};

/// Updates after less than a block's worth of writes are hot, others warm, survivors cold; first writes are
/// unclassified (update-interval paper §3: Kim and Shin 2015).
#[derive(Clone, Copy, Debug, Default)]
pub struct UpdateInterval;

const UNCLASSIFIED: u8 = 0;
const HOT: u8 = 1;
const WARM: u8 = 2;
const COLD: u8 = 3;

impl Placement for UpdateInterval {
    fn streams(&self) -> u8 {
        4
    }

    fn host(&mut self, old: Option<Old>) -> u8 {
        match old {
            None => UNCLASSIFIED,
            // An update of cold data is long by definition: they were cleaned since they were written.
            Some(old) if old.near && old.stream != COLD => HOT,
            Some(_) => WARM,
        }
    }

    fn survivor(&mut self, _: u8) -> u8 {
        COLD
    }
}
