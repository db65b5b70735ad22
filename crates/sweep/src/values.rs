//! Lists and ranges of values: `7%,15%,28%`, `5%..30%/5%`, `64KiB..1MiB*2`.
//!
//! A list has commas between its items; commas in brackets belong to an item. An item
//! `FROM..TO/STEP` stands for every value from FROM to TO, both among them if the steps meet TO, and
//! `FROM..TO*FACTOR` for those of a geometric series. Units that are left out are those of TO. Values
//! are computed as decimal numbers, not in floating point, so that they are written as people would.

use thermocline_units::{format_size, parse_size, split_list};

/// More values than anybody waits for.
const MOST: usize = 100_000;

/// The values of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// All values.
    Listed(Vec<String>),
    /// The only item is a range without steps, which a search may divide: its values at a fine step, and
    /// that step.
    Open(Vec<String>, String),
}

/// The values of a text.
///
/// # Errors
/// What is wrong with a range, and how to write it.
pub fn listed(text: &str) -> Result<Values, String> {
    let items = split_list(text);
    if let [item] = &items[..]
        && let Some(Range { low, high, by: None }) = Range::parse(item)?
    {
        let step = low.fine_step(&high);
        let values = series(item, low, &high, &By::Step(step.clone()))?;
        return Ok(Values::Open(values, step.show()));
    }
    let mut values = Vec::new();
    for item in items {
        match Range::parse(&item)? {
            None => values.push(item),
            Some(Range { low, high, by: Some(by) }) => {
                values.extend(series(&item, low, &high, &by)?);
            }
            Some(_) => {
                return Err(format!(
                    "`{item}` has no steps; write them as {item}/STEP, or search it with ‹until›"
                ));
            }
        }
    }
    match values.len() {
        0 => Err(format!("`{text}` lists no value")),
        1..=MOST => Ok(Values::Listed(values)),
        n => Err(format!("`{text}` stands for {n} values; take larger steps")),
    }
}

/// `FROM..TO`, `FROM..TO/STEP` or `FROM..TO*FACTOR`.
struct Range {
    low: Number,
    high: Number,
    by: Option<By>,
}

enum By {
    Step(Number),
    Factor(i128),
}

/// A decimal number with a unit: `digits` / 10^`decimals`.
#[derive(Clone, Debug, PartialEq)]
struct Number {
    digits: i128,
    decimals: u32,
    unit: String,
}

impl Range {
    /// Nothing if the text is no range: a path may have two dots, too.
    fn parse(item: &str) -> Result<Option<Self>, String> {
        let Some((low, rest)) = item.split_once("..") else { return Ok(None) };
        if !low.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let wrong = |what: &str| {
            format!("`{item}` is no range: {what}; write it as 5%..30%/5% or 64KiB..1MiB*2")
        };
        let number = |text: &str| {
            Number::parse(text).ok_or_else(|| wrong(&format!("`{text}` is no number")))
        };
        let (high, step, factor) = match rest.find(['/', '*']) {
            None => (rest, None, None),
            Some(at) if rest[at..].starts_with('/') => (&rest[..at], Some(&rest[at + 1..]), None),
            Some(at) => (&rest[..at], None, Some(&rest[at + 1..])),
        };
        let (mut low, mut high) = (number(low)?, number(high)?);
        let mut step = step.map(number).transpose()?;
        for other in [Some(&mut low), step.as_mut()].into_iter().flatten() {
            if other.unit.is_empty() {
                other.unit.clone_from(&high.unit);
            }
        }
        let units = [Some(&low), step.as_ref()];
        if units.into_iter().flatten().any(|other| other.unit != high.unit) {
            // Sizes have many units; others cannot be converted.
            let convert = |number: &mut Number| {
                let bytes = parse_size(&number.show()).map_err(|_| wrong("its units differ"))?;
                *number = Number { digits: bytes.into(), decimals: 0, unit: Number::BYTES.into() };
                Ok::<_, String>(())
            };
            convert(&mut low)?;
            convert(&mut high)?;
            step.as_mut().map(convert).transpose()?;
        }
        if low.at(high.decimals) > high.at(low.decimals) {
            return Err(wrong("it begins behind its end"));
        }
        if step.as_ref().is_some_and(|step| step.digits <= 0) {
            return Err(wrong("its step must be above 0"));
        }
        let factor = factor.map(|text| match text.trim().parse::<i128>() {
            Ok(factor) if factor > 1 && low.digits > 0 => Ok(factor),
            _ => Err(wrong("its factor must be a whole number above 1, and its begin above 0")),
        });
        let by = step.map(By::Step).or(factor.transpose()?.map(By::Factor));
        Ok(Some(Self { low, high, by }))
    }
}

fn series(item: &str, low: Number, high: &Number, by: &By) -> Result<Vec<String>, String> {
    let decimals = match by {
        By::Step(step) => low.decimals.max(high.decimals).max(step.decimals),
        By::Factor(_) => low.decimals.max(high.decimals),
    };
    let scaled = |number: &Number| number.at(decimals - number.decimals);
    let (mut next, end) = (scaled(&low), scaled(high));
    let mut values = Vec::new();
    while next <= end {
        if values.len() == MOST {
            return Err(format!("`{item}` stands for more than {MOST} values; take larger steps"));
        }
        values.push(Number { digits: next, decimals, unit: low.unit.clone() }.show());
        next = match by {
            By::Step(step) => next + scaled(step),
            By::Factor(factor) => next * factor,
        };
    }
    Ok(values)
}

impl Number {
    /// The unit of sizes that were converted.
    const BYTES: &'static str = "B";
    /// Digits behind the point that anybody writes.
    const MOST_DECIMALS: usize = 9;

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || whole.len() > 18 || fraction.len() > Self::MOST_DECIMALS {
            return None;
        }
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { digits, decimals: fraction.len() as u32, unit: unit.trim().to_owned() })
    }

    /// Its digits with this many more behind the point.
    fn at(&self, more: u32) -> i128 {
        self.digits * 10_i128.pow(more)
    }

    /// As people write it; sizes in the largest unit that is exact.
    fn show(&self) -> String {
        if self.unit == Self::BYTES && self.decimals == 0 {
            return format_size(u64::try_from(self.digits).unwrap_or(u64::MAX));
        }
        let scale = 10_i128.pow(self.decimals);
        let (whole, fraction) = (self.digits / scale, self.digits % scale);
        let fraction = format!("{fraction:0width$}", width = self.decimals as usize);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{whole}{point}{fraction}{}", self.unit)
    }

    /// A power of ten, from a hundredth to a thousandth of the way to another number; of whole numbers
    /// and sizes at least 1.
    fn fine_step(&self, high: &Self) -> Self {
        let decimals = self.decimals.max(high.decimals) + 3;
        let way = high.at(decimals - high.decimals) - self.at(decimals - self.decimals);
        let mut step = 1;
        while step * 1000 <= way {
            step *= 10;
        }
        let whole = self.decimals == 0 && high.decimals == 0 && self.unit != "%";
        let step = if whole { step.max(10_i128.pow(decimals)) } else { step };
        Self { digits: step, decimals, unit: high.unit.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        match listed(text).expect(text) {
            Values::Listed(values) => values,
            Values::Open(..) => panic!("{text} is open"),
        }
    }

    #[test]
    fn lists_and_ranges_are_values() {
        assert_eq!(all("7%,15%, 28%"), ["7%", "15%", "28%"]);
        assert_eq!(all("greedy,cat(tau=1h, offset=0)"), ["greedy", "cat(tau=1h, offset=0)"]);
        assert_eq!(all("5%..30%/5%"), ["5%", "10%", "15%", "20%", "25%", "30%"]);
        assert_eq!(all("5..6%/0.5"), ["5%", "5.5%", "6%"]);
        assert_eq!(all("0.1..0.35/0.1,1"), ["0.1", "0.2", "0.3", "1"]);
        assert_eq!(all("64KiB..1MiB*4"), ["64KiB", "256KiB", "1MiB"]);
        assert_eq!(all("64KiB..256KiB/64KiB"), ["64KiB", "128KiB", "192KiB", "256KiB"]);
        assert_eq!(all("1..8*2"), ["1", "2", "4", "8"]);
        assert_eq!(all("../my.toml,a..b"), ["../my.toml", "a..b"]);
    }

    #[test]
    fn a_range_without_steps_is_open() {
        let open = |text: &str| match listed(text) {
            Ok(Values::Open(values, step)) => (values.len(), values.last().cloned(), step),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(open("2%..60%"), (581, Some("60%".into()), "0.1%".into()));
        assert_eq!(open("1..64"), (64, Some("64".into()), "1".into()));
    }

    #[test]
    fn what_is_no_range_is_refused_with_the_remedy() {
        for text in [
            "5%..x",
            "30%..5%/5%",
            "1..9/0",
            "5%..20ms/1%",
            "1..9*1",
            "0..9*2",
            "1..9,4",
            ",",
            "0..1/0.000001",
        ] {
            let error = listed(text).expect_err(text);
            assert!(error.contains('`') && !error.is_empty(), "{error}");
        }
    }
}
