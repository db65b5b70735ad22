//! The possible verdicts.

use serde::{Deserialize, Serialize};

/// The verdict of a claim, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The measured value is within the tolerance; the order or trend holds.
    Reproduced,
    /// Values of an order are equal, or on the wrong side within its tolerance.
    Tie,
    /// The value is not within the tolerance, but its order or sign is right.
    Direction,
    /// None of these.
    Not,
    /// Its input is missing.
    Skipped,
    /// It cannot be reproduced.
    Unreachable,
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Self; 6] =
        [Self::Reproduced, Self::Tie, Self::Direction, Self::Not, Self::Skipped, Self::Unreachable];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Tie => "tie",
            Self::Direction => "direction",
            Self::Not => "not",
            Self::Skipped => "skipped",
            Self::Unreachable => "unreachable",
        }
    }

    /// Whether there is a measured value to compare with the published one.
    pub const fn is_judged(self) -> bool {
        !matches!(self, Self::Skipped | Self::Unreachable)
    }

    /// Whether this is worse than the recorded verdict. Verdicts without a judgement are not
    /// compared.
    pub const fn is_worse_than(self, recorded: Self) -> bool {
        match (self.rank(), recorded.rank()) {
            (Some(now), Some(then)) => now > then,
            _ => false,
        }
    }

    const fn rank(self) -> Option<u8> {
        match self {
            Self::Reproduced => Some(0),
            Self::Tie | Self::Direction => Some(1),
            Self::Not => Some(2),
            Self::Skipped | Self::Unreachable => None,
        }
    }
}
