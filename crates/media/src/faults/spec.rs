//! Which faults, how often: the numbers, and their text form.

use std::{fmt, str::FromStr};

/// The faults of a [`Faulty`](super::Faulty) chip. Written `seed=1,flip=1e-6,wear=3000`; what is not
/// named keeps its default, and the default does nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// Draws everything that is drawn (`seed`).
    pub seed: u64,
    /// Probability that one bit is read wrong, each time it is read (`flip`).
    pub flip: f64,
    /// Probability that reading a page turns one of its bits until the block is erased (`disturb`).
    pub disturb: f64,
    /// Wrong bits that can be corrected in each KiB (`ecc`).
    pub correctable: u32,
    /// Probability that a page cannot be programmed (`program`).
    pub program: f64,
    /// Probability that a block cannot be erased (`erase`).
    pub erase: f64,
    /// Operations (programs, copies and erases, counted from 0) that fail, in ascending order
    /// (`fail=10+20`).
    pub fail: Vec<u64>,
    /// Mean number of erases that a block lives for, if any block dies (`wear`).
    pub wear: Option<u32>,
    /// Standard deviation of that number, as a share of it (`spread`).
    pub spread: f64,
    /// Operations that the chip may hold back until it is synced (`cache`).
    pub cache: u32,
    /// The operation in which power fails, counted from 0, if it does (`cut`).
    pub cut: Option<u64>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            seed: 1,
            flip: 0.0,
            disturb: 0.0,
            correctable: 8,
            program: 0.0,
            erase: 0.0,
            fail: Vec::new(),
            wear: None,
            spread: 0.1,
            cache: 0,
            cut: None,
        }
    }
}

/// A text that names no faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultsError {
    /// Not `name=value`.
    #[error("`{0}` is not a fault; write name=value, as in seed=1,flip=1e-6")]
    NotAPair(String),
    /// No fault of that name.
    #[error("there is no fault `{0}`; there are {NAMES}")]
    Unknown(String),
    /// A fault was named twice.
    #[error("`{0}` is given twice; leave one out")]
    Twice(String),
    /// A value that the fault cannot have.
    #[error("`{name}={value}`: expected {expected}")]
    Value {
        /// The fault.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
}

const NAMES: &str = "seed, flip, disturb, ecc, program, erase, fail, wear, spread, cache and cut";

impl FromStr for Faults {
    type Err = FaultsError;

    /// The list alone, or as it stands before the name of a medium: `fault:seed=1,flip=1e-6:`.
    fn from_str(text: &str) -> Result<Self, FaultsError> {
        let list = text.strip_prefix("fault:").unwrap_or(text);
        let list = list.strip_suffix(':').unwrap_or(list);
        let mut faults = Self::default();
        let mut given: Vec<&str> = Vec::new();
        for pair in list.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(FaultsError::NotAPair(pair.to_owned()));
            };
            if given.contains(&name) {
                return Err(FaultsError::Twice(name.to_owned()));
            }
            faults.set(name, value)?;
            given.push(name);
        }
        Ok(faults)
    }
}

impl Faults {
    fn set(&mut self, name: &str, value: &str) -> Result<(), FaultsError> {
        match name {
            "seed" => self.seed = number("seed", value)?,
            "flip" => self.flip = probability("flip", value)?,
            "disturb" => self.disturb = probability("disturb", value)?,
            "ecc" => self.correctable = number("ecc", value)?,
            "program" => self.program = probability("program", value)?,
            "erase" => self.erase = probability("erase", value)?,
            "fail" => {
                let numbers = value.split('+').map(|one| number("fail", one));
                self.fail = numbers.collect::<Result<_, _>>()?;
                self.fail.sort_unstable();
            }
            "wear" => self.wear = Some(number("wear", value)?),
            "spread" => self.spread = probability("spread", value)?,
            "cache" => self.cache = number("cache", value)?,
            "cut" => self.cut = Some(number("cut", value)?),
            _ => return Err(FaultsError::Unknown(name.to_owned())),
        }
        Ok(())
    }
}

fn number<N: FromStr>(name: &'static str, value: &str) -> Result<N, FaultsError> {
    let refuse = || FaultsError::Value {
        name,
        value: value.to_owned(),
        expected: if name == "fail" {
            "numbers of operations with + between, as in 10+20"
        } else {
            "a whole number"
        },
    };
    value.parse().map_err(|_| refuse())
}

fn probability(name: &'static str, value: &str) -> Result<f64, FaultsError> {
    match value.parse() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err(FaultsError::Value {
            name,
            value: value.to_owned(),
            expected: "a number from 0 to 1, as in 1e-6",
        }),
    }
}

impl fmt::Display for Faults {
    /// The seed, and whatever is not as by default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        write!(f, "seed={}", self.seed)?;
        for (name, value, usual) in [
            ("flip", self.flip, default.flip),
            ("disturb", self.disturb, default.disturb),
            ("program", self.program, default.program),
            ("erase", self.erase, default.erase),
            ("spread", self.spread, default.spread),
        ] {
            if value != usual {
                // Small numbers with an exponent, as people write them.
                write!(f, ",{name}={value:?}")?;
            }
        }
        if self.correctable != default.correctable {
            write!(f, ",ecc={}", self.correctable)?;
        }
        for (place, operation) in self.fail.iter().enumerate() {
            write!(f, "{}{operation}", if place == 0 { ",fail=" } else { "+" })?;
        }
        if let Some(wear) = self.wear {
            write!(f, ",wear={wear}")?;
        }
        if self.cache != default.cache {
            write!(f, ",cache={}", self.cache)?;
        }
        if let Some(cut) = self.cut {
            write!(f, ",cut={cut}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (text, canonical) in [
            ("", "seed=1"),
            ("fault:seed=7:", "seed=7"),
            ("wear=3000, flip=0.000001", "seed=1,flip=1e-6,wear=3000"),
            (
                "fault:seed=1,flip=1e-6,program=1e-5,erase=1e-5,wear=3000:",
                "seed=1,flip=1e-6,program=1e-5,erase=1e-5,wear=3000",
            ),
            (
                "cut=9,cache=64,fail=20+10,ecc=4,disturb=0.5,spread=0",
                "seed=1,disturb=0.5,spread=0.0,ecc=4,fail=10+20,cache=64,cut=9",
            ),
        ] {
            let faults: Faults = text.parse().expect(text);
            assert_eq!(faults.to_string(), canonical, "{text}");
            assert_eq!(canonical.parse(), Ok(faults), "{canonical}");
        }
        assert_eq!("".parse(), Ok(Faults::default()));
    }

    #[test]
    fn what_names_no_fault_is_refused_in_words() {
        for (text, words) in [
            ("flip", "`flip` is not a fault; write name=value, as in seed=1,flip=1e-6"),
            ("flop=1", "there is no fault `flop`; there are seed, flip, disturb, ecc"),
            ("seed=1,seed=2", "`seed` is given twice; leave one out"),
            ("flip=2", "`flip=2`: expected a number from 0 to 1, as in 1e-6"),
            ("erase=nan", "`erase=nan`: expected a number from 0 to 1"),
            ("wear=3k", "`wear=3k`: expected a whole number"),
            ("fail=1+x", "`fail=x`: expected numbers of operations with + between"),
        ] {
            let error = text.parse::<Faults>().expect_err(text).to_string();
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }
}
