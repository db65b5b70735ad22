use super::{Old, Placement};

/// All pages go to one stream: the least RAM.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneStream;

impl Placement for OneStream {
    fn streams(&self) -> u8 {
        1
    }

    fn host(&mut self, _: Option<Old>) -> u8 {
        0
    }

    fn survivor(&mut self, _: u8) -> u8 {
        0
    }
}
