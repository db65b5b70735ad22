//! Cost-benefit with a power of the age: the greatest `(1 − u) / u · age^0.5` (Wang et al., SepBIT,
//! FAST 2022; Oh et al., MiDAS, FAST 2024).
//!
//! The published cost-benefits differ in the exponent and in what ages count from:
//!
//! | who | exponent | age |
//! |---|---|---|
//! | Kawaguchi, Nishioka, Motoda 1995, and FEMU by the same formula | 1 | last-invalidation |
//! | SepBIT (last append); MiDAS (when sealed); DOGI | 0.5 | closed |
//! | SimpleSSD (last access; reads leave no mark on our blocks) | 1 | youngest comes nearest |
//!
//! [`CostBenefit`] with `transform=power` makes the same choices; this one has the defaults of the
//! second line.

use alloc::boxed::Box;

use super::{CostBenefit, Victim, VictimEntry};
use crate::{
    PolicyInfo, Ticks,
    age::{AgeSource, Exponent, Shape, Transform},
    params,
};

params! {
    /// Parameters of the entry `cost-benefit-sqrt`.
    pub struct CostBenefitSqrtParams {
        /// What a block's age counts from: closed as SepBIT and MiDAS have it, last-invalidation as
        /// Kawaguchi et al.; youngest comes nearest to SimpleSSD's last access.
        age: AgeSource = AgeSource::Closed,
        /// Exponent of the age: 0.5 as SepBIT, MiDAS and DOGI have it, 1 as Kawaguchi et al., FEMU and
        /// SimpleSSD.
        exponent: Exponent = Exponent(0.5),
    }
}

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "cost-benefit-sqrt",
        aliases: &["cb-sqrt"],
        source: "SepBIT (FAST 2022); MiDAS (FAST 2024); DOGI (FAST 2026)",
        summary: "greatest (1−u)/u·√age; the cost-benefit of the recent stream schemes",
        params: CostBenefitSqrtParams::info,
    },
    build: |args, _| {
        let p = CostBenefitSqrtParams::read(args)?;
        // The unit of time is a factor common to all blocks.
        let transform = Transform::new(Shape::Power, Some(Ticks(1)), 1.0, p.exponent.0);
        Ok(Box::new(CostBenefit::new(p.age, transform)) as Box<dyn Victim>)
    },
};
