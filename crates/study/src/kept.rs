//! The stored result of a simulation, or of all simulations on one volume.

use serde::{Deserialize, Serialize};
use thermocline_sim::result::StoredResult;

/// Why a volume has no result, in words.
pub const TOO_SMALL: &str = "too small";

/// A stored result.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Kept<T> {
    /// The volume was left out.
    Excluded(Excluded),
    /// The result.
    Done(T),
}

/// Why a volume was left out.
#[derive(Debug, Serialize, Deserialize)]
pub enum Excluded {
    /// It is smaller than those that are asked for.
    #[serde(rename = "too small")]
    TooSmall,
}

/// The result of a policy on a volume of a fleet.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Its result.
    Result(StoredResult),
    /// Why there is none.
    Error(String),
}

impl<T> Kept<T> {
    /// The volume was too small.
    pub const TOO_SMALL: Self = Self::Excluded(Excluded::TooSmall);
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn stores_of_earlier_versions_are_read_and_written() {
        let fleet = json!([{ "result": { "write_amplification": 1.5 } }, { "error": "no room" }]);
        let kept: Kept<Vec<Outcome>> = from_value(fleet.clone()).expect("a volume of a fleet");
        assert_eq!(to_value(&kept).expect("JSON"), fleet);
        let left_out: Kept<Vec<Outcome>> = from_value(json!(TOO_SMALL)).expect("left out");
        assert!(matches!(left_out, Kept::Excluded(_)));
        let run: Kept<StoredResult> = from_value(fleet[0]["result"].clone()).expect("a result");
        assert!(
            matches!(run, Kept::Done(result) if result.number("write_amplification") == Some(1.5))
        );
        assert_eq!(to_value(Kept::<StoredResult>::TOO_SMALL).expect("JSON"), json!(TOO_SMALL));
    }
}
