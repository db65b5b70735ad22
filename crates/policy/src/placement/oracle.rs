//! The oracle: it knows when each page will die, so pages that die together share blocks.
//!
//! No device can know that. What another policy writes beyond the oracle is what better separation
//! of the same pages could still save.
//!
//! A page's class is its remaining lifetime in page writes, computed anew when the page is copied.
//! Classes of equal width, each a block of page writes, are the FK scheme that SepBIT was compared
//! with (Wang et al., FAST 2022, with six classes). They separate only data that die within a few
//! blocks, which is almost nothing on a device of thousands of blocks. Classes whose widths grow by
//! a constant factor reach from one block to several times the device, and copy a fraction of that.

use alloc::vec::Vec;

use super::{
    Registered,
    foresight::{Clairvoyant, Division},
};
use crate::{Args, Context, ParamError, PolicyInfo, choice, params, params::ParamValue};

choice! {
    /// How the classes divide the remaining lifetime.
    pub enum Spacing {
        /// Each class is wider than the one before by the same factor.
        Geometric = "geometric",
        /// Each class is one block of pages wide.
        Linear = "linear",
    }
}

/// A number of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes(pub u8);

impl ParamValue for Classes {
    const EXPECTED: &'static str = "a whole number from 2 to 64";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|classes| (2..=64).contains(classes)).map(Self)
    }
    fn show(&self) -> alloc::string::String {
        u32::from(self.0).show()
    }
}

/// The remaining lifetime beyond which classes are not distinguished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Horizon(pub f64);

impl ParamValue for Horizon {
    const EXPECTED: &'static str = "a number above 0";
    fn parse(text: &str) -> Option<Self> {
        f64::parse(text).filter(|&x| x > 0.0).map(Self)
    }
    fn show(&self) -> alloc::string::String {
        self.0.show()
    }
}

params! {
    /// Parameters of [`Oracle`].
    pub struct OracleParams {
        /// Classes of pages by the page writes they have left to live; each has an open block.
        classes: Classes = Classes(16),
        /// How the classes divide that time.
        spacing: Spacing = Spacing::Geometric,
        /// Where the last class begins with spacing=geometric, in times all pages are written.
        horizon: Horizon = Horizon(4.0),
    }
}

/// Assigns every page the stream of its remaining lifetime.
pub type Oracle = Clairvoyant<Remaining>;

/// Classes of remaining lifetimes.
#[derive(Clone, Debug)]
pub struct Remaining {
    /// Where each class but the first begins, in remaining page writes.
    begins: Vec<u32>,
}

impl Division for Remaining {
    fn streams(&self) -> u8 {
        self.begins.len() as u8 + 1
    }

    #[inline(always)]
    fn stream(&self, _: u32, left: u32) -> u8 {
        self.begins.partition_point(|&begins| begins <= left) as u8
    }
}

impl Registered for Oracle {
    const SEES_FUTURE: bool = true;
    const INFO: PolicyInfo = PolicyInfo {
        name: "oracle",
        aliases: &[],
        source: "after FK of SepBIT (Wang et al., FAST 2022), with classes of growing width",
        summary: "knows when each page will be overwritten or trimmed: the bound that separation \
                  is measured against; cannot be built",
        params: OracleParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = OracleParams::read(args)?;
        Ok(Self::new(Remaining { begins: begins(&p, context) }, context))
    }
}

/// Where each class but the first begins.
fn begins(p: &OracleParams, context: &Context) -> Vec<u32> {
    let block = f64::from(context.pages_per_block);
    let steps = i32::from(p.classes.0) - 2;
    let growth = match p.spacing {
        Spacing::Geometric if steps > 0 => {
            let blocks = p.horizon.0 * f64::from(context.logical_pages) / block;
            libm::pow(blocks.max(1.0), 1.0 / f64::from(steps))
        }
        _ => 1.0,
    };
    (0..=steps)
        .map(|step| match p.spacing {
            Spacing::Geometric => (block * libm::pow(growth, f64::from(step))) as u32,
            Spacing::Linear => context.pages_per_block.saturating_mul(step as u32 + 1),
        })
        .collect()
}
