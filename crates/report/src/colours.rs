//! The colours of policies: a policy has one colour on every page.
//!
//! Policies that are often compared have a fixed colour each; others take one of the rest, by their names. If two
//! on one page have the same colour, the less known one takes another. Beyond eleven, greedy and the ten with the
//! least write amplification have colours, and the rest is grey.

use thermocline_chart::COLOURS;

/// Grey, for lines that are no policy or know the future.
pub(crate) const GREY: usize = 6;
/// The baseline, which always has its colour.
const YARDSTICK: &str = "greedy";
/// Policies with a colour of their own, in the order of the colours.
const KNOWN: [&str; COLOURS.len() - 1] = [
    YARDSTICK,
    "cost-benefit",
    "cat",
    "dac",
    "sep-bit",
    "midas",
    "thermocline",
    "update-interval",
    "multi-log",
    "fifo",
    "lfs",
];

/// The number of each policy's colour, by its name and its write amplification.
pub(crate) fn of(policies: &[(&str, Option<f64>)]) -> Vec<usize> {
    let mut colours: Vec<Option<usize>> =
        policies.iter().map(|(name, _)| (base(name) == "oracle").then_some(GREY)).collect();
    let mut order: Vec<usize> = (0..policies.len()).filter(|at| colours[*at].is_none()).collect();
    let cost = |at: usize| policies[at].1.unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| {
        let is_not = |at: usize| base(policies[at].0) != YARDSTICK;
        is_not(*a)
            .cmp(&is_not(*b))
            .then(cost(*a).total_cmp(&cost(*b)))
            .then(policies[*a].0.cmp(policies[*b].0))
    });
    let rest = order.split_off(order.len().min(KNOWN.len()));
    for (at, place) in rest.into_iter().enumerate() {
        colours[place] = Some(COLOURS.len() + at);
    }
    // Those that have a colour of their own take it first, whatever they came to.
    order.sort_by_key(|at| (wanted(policies[*at].0).is_err(), policies[*at].0));
    let mut free = [true; KNOWN.len()];
    for place in order {
        let (Ok(first) | Err(first)) = wanted(policies[place].0);
        let mut all = (first..KNOWN.len()).chain(0..first);
        let Some(found) = all.find(|colour| free[*colour]) else { continue };
        free[found] = false;
        colours[place] = Some(if found >= GREY { found + 1 } else { found });
    }
    colours.into_iter().map(|colour| colour.unwrap_or(GREY)).collect()
}

/// A policy without its parameters.
fn base(name: &str) -> &str {
    name.split(['(', '/', '+']).next().unwrap_or(name).trim()
}

/// The colour that a policy wants: its own, or one by the letters of its name.
fn wanted(name: &str) -> Result<usize, usize> {
    let own = KNOWN.iter().position(|known| *known == base(name));
    own.ok_or_else(|| {
        name.bytes().fold(5381, |hash: usize, byte| hash.wrapping_mul(33) ^ usize::from(byte))
            % KNOWN.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_has_the_same_colour_on_every_page() {
        let alone = |name| of(&[(name, Some(1.0))])[0];
        let pages = [
            &["greedy", "cat", "sep-bit"][..],
            &["sep-bit", "fk", "oracle", "greedy"],
            &["warcip", "midas", "sep-bit"],
        ];
        for page in pages {
            let named: Vec<_> =
                page.iter().enumerate().map(|(at, name)| (*name, Some(at as f64))).collect();
            let colours = of(&named);
            for (name, colour) in page.iter().zip(&colours) {
                assert!(!KNOWN.contains(name) || *colour == alone(name), "{name}: {colours:?}");
            }
        }
        assert_eq!((alone("greedy"), alone("oracle")), (0, GREY));
    }

    #[test]
    fn no_two_policies_of_a_page_have_one_colour_and_only_eleven_have_any() {
        let names: Vec<String> = (0..29)
            .map(|n| if n == 20 { YARDSTICK.into() } else { format!("policy-{n}") })
            .collect();
        let policies: Vec<_> =
            names.iter().enumerate().map(|(at, name)| (name.as_str(), Some(at as f64))).collect();
        let colours = of(&policies);
        let mut distinct = colours.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 29);
        let told: Vec<_> = (0..29).filter(|at| colours[*at] < COLOURS.len()).collect();
        assert_eq!(told, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20], "the ten best, and greedy");
        let twice = of(&[("cat(tau=1s)", Some(2.0)), ("cat(tau=2s)", Some(1.0))]);
        assert_ne!(twice[0], twice[1]);
    }
}
