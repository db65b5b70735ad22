//! What can come of a claim.

use serde::{Deserialize, Serialize};

/// What came of a claim, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The measured value lies within the tolerance; the order or trend holds.
    Reproduced,
    /// Values of an order are equal, or on the wrong side within its tolerance.
    Tie,
    /// The value does not, but the order does, or the sign.
    Direction,
    /// Neither.
    Not,
    /// Its input is not there.
    Skipped,
    /// Nobody can reproduce it.
    Unreachable,
}

impl Verdict {
    /// All there are, the best first.
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

    /// Whether something was measured that can be held beside what was published.
    pub const fn is_judged(self) -> bool {
        !matches!(self, Self::Skipped | Self::Unreachable)
    }

    /// Whether this is worse than what was recorded. What could not be judged is not compared.
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
