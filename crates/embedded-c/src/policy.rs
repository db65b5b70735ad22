//! Policies by number.

use core::ffi::c_int;

use thermocline_embedded::policy::{
    Candidate, Cat, CostBenefit, Dac, Greedy, HotCold, Old, OneStream, Placement, UpdateInterval,
    Victim, Worth,
};

/// `enum thermocline_victim`.
pub(crate) enum AnyVictim {
    Greedy,
    CostBenefit(CostBenefit),
    Cat(Cat),
}

impl AnyVictim {
    pub(crate) fn of(number: c_int) -> Option<Self> {
        match number {
            0 => Some(Self::Greedy),
            1 => Some(Self::CostBenefit(CostBenefit::default())),
            2 => Some(Self::Cat(Cat::default())),
            _ => None,
        }
    }
}

impl Victim for AnyVictim {
    fn worth(&self, block: &Candidate) -> Worth {
        match self {
            Self::Greedy => Greedy.worth(block),
            Self::CostBenefit(victim) => victim.worth(block),
            Self::Cat(victim) => victim.worth(block),
        }
    }
}

/// `enum thermocline_placement`.
pub(crate) enum AnyPlacement {
    OneStream,
    HotCold,
    UpdateInterval,
    Dac(Dac<3>),
}

impl AnyPlacement {
    pub(crate) fn of(number: c_int) -> Option<Self> {
        match number {
            0 => Some(Self::OneStream),
            1 => Some(Self::HotCold),
            2 => Some(Self::UpdateInterval),
            3 => Some(Self::Dac(Dac)),
            _ => None,
        }
    }
}

impl Placement for AnyPlacement {
    fn streams(&self) -> u8 {
        match self {
            Self::OneStream => OneStream.streams(),
            Self::HotCold => HotCold.streams(),
            Self::UpdateInterval => UpdateInterval.streams(),
            Self::Dac(dac) => dac.streams(),
        }
    }

    fn host(&mut self, old: Option<Old>) -> u8 {
        match self {
            Self::OneStream => OneStream.host(old),
            Self::HotCold => HotCold.host(old),
            Self::UpdateInterval => UpdateInterval.host(old),
            Self::Dac(dac) => dac.host(old),
        }
    }

    fn survivor(&mut self, stream: u8) -> u8 {
        match self {
            Self::OneStream => OneStream.survivor(stream),
            Self::HotCold => HotCold.survivor(stream),
            Self::UpdateInterval => UpdateInterval.survivor(stream),
            Self::Dac(dac) => dac.survivor(stream),
        }
    }
}
