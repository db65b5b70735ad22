//! `sweep --until`: the value at which a condition begins to hold, for every other setting.

use std::collections::BTreeMap;

use thermocline_report::{figure, sweep::Searched};
use thermocline_sim::SimError;
use thermocline_sweep::{Bisection, Cell, Condition, Found};

use super::{
    asked::{Asked, Open},
    session::Session,
};

/// A search with one combination of the other settings.
struct Search {
    group: Cell,
    bisection: Bisection,
    /// The mean figure of each value that was tried, and whether it is that of a queue which grows.
    figures: BTreeMap<usize, (f64, bool)>,
    /// Why the search ended early.
    failure: Option<String>,
}

/// Searches with every combination of the other settings.
///
/// # Errors
/// What is wrong with all of them; the cells that it asked for.
pub fn search(
    condition: &Condition,
    asked: &Asked,
    session: &mut Session<'_>,
) -> Result<Outcome, (SimError, Vec<Cell>)> {
    let Some(open) = &asked.open else { unreachable!("it was asked for") };
    let search = |group| Search {
        group,
        bisection: Bisection::new(open.values.len()),
        figures: BTreeMap::new(),
        failure: None,
    };
    let mut searches: Vec<_> = asked.groups().into_iter().map(search).collect();
    loop {
        let asks = |search: &Search| match search.failure {
            None => search.bisection.asks(),
            Some(_) => Vec::new(),
        };
        let round: Vec<_> = searches.iter().map(asks).collect();
        let cells_of = |at: usize, value: usize| asked.cells_at(&searches[at].group, open, value);
        let all =
            round.iter().enumerate().flat_map(|(at, values)| values.iter().map(move |v| (at, *v)));
        let all: Vec<(usize, usize, Vec<Cell>)> =
            all.map(|(at, value)| (at, value, cells_of(at, value))).collect();
        if all.is_empty() {
            break;
        }
        let cells: Vec<Cell> = all.iter().flat_map(|(.., cells)| cells.iter().cloned()).collect();
        if let Err(error) = session.ensure(&cells) {
            return Err((error, cells));
        }
        for (at, value, cells) in all {
            searches[at].learn(value, &cells, condition, session);
        }
    }
    let sentences = searches.iter().map(|search| search.sentence(condition, open)).collect();
    let tried = searches.iter().flat_map(|search| {
        search.figures.keys().flat_map(|value| asked.cells_at(&search.group, open, *value))
    });
    let tried = tried.collect();
    let knee = |search: &Search| {
        let found = match search.bisection.found() {
            Found::From(value) | Found::UpTo(value) => Some(open.values[value].clone()),
            Found::Everywhere | Found::Nowhere => None,
        };
        (search.group.name.clone(), found)
    };
    let searched = Searched {
        metric: condition.metric,
        condition: format!("{} {}", condition.relation, condition.bound),
        bound: condition.bound,
        knees: searches.iter().map(knee).collect(),
        sentences,
    };
    let found =
        |search: &Search| search.failure.is_none() && search.bisection.found() != Found::Nowhere;
    Ok(Outcome { tried, searched, complete: searches.iter().all(found) })
}

/// The outcome of searches.
#[derive(Debug)]
pub struct Outcome {
    /// The cells that were run.
    pub tried: Vec<Cell>,
    /// A sentence for each search, and its result.
    pub searched: Searched,
    /// Whether every search has an answer.
    pub complete: bool,
}

impl Search {
    /// Takes note of a value that was tried, with each seed.
    fn learn(
        &mut self,
        value: usize,
        cells: &[Cell],
        condition: &Condition,
        session: &Session<'_>,
    ) {
        let figure = |cell: &Cell| {
            let result = session.result(cell)?;
            let figure = condition.of(&result);
            let figure = figure.ok_or(format!("it has no {}", condition.metric.key))?;
            Ok((figure, result.is_of_queue(condition.metric)))
        };
        match cells.iter().map(figure).collect::<Result<Vec<(f64, bool)>, String>>() {
            Err(why) => self.failure = Some(format!("{}: {why}", cells[0].name)),
            Ok(figures) => {
                let mean =
                    figures.iter().map(|(figure, _)| figure).sum::<f64>() / figures.len() as f64;
                self.figures.insert(value, (mean, figures.iter().any(|(_, is_late)| *is_late)));
                self.bisection.tell(value, condition.holds(mean));
            }
        }
    }

    fn sentence(&self, condition: &Condition, open: &Open) -> String {
        let Open { option, values, step } = open;
        let name = if self.group.name.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.group.name)
        };
        if let Some(why) = &self.failure {
            return format!("{name}no answer, because a simulation failed ({why}).");
        }
        let (key, last) = (&condition.metric.key, values.len() - 1);
        let wanted = format!("{key} {} {}", condition.relation, condition.bound);
        let shown = |value: usize| {
            let (figure, is_late) = self.figures.get(&value).copied().unwrap_or((f64::NAN, false));
            let late = if is_late { " (overloaded)" } else { "" };
            figure::show_number(condition.metric.look.format, figure) + late
        };
        let at = |value: usize| format!("{} at {}", shown(value), values[value]);
        match self.bisection.found() {
            Found::From(value) => format!(
                "{name}{wanted} takes {option} of at least {}: it is {}, and {} (tolerance {step}).",
                values[value],
                at(value),
                at(value - 1)
            ),
            Found::UpTo(value) => format!(
                "{name}{wanted} takes {option} of at most {}: it is {}, and {} (tolerance {step}).",
                values[value],
                at(value),
                at(value + 1)
            ),
            Found::Everywhere => format!(
                "{name}{wanted} holds with {option} from {} to {}: it is {}, and {}.",
                values[0],
                values[last],
                at(0),
                at(last)
            ),
            Found::Nowhere => format!(
                "{name}{wanted} holds with no {option} from {} to {}: it is {}, and {}; take a wider \
                 range.",
                values[0],
                values[last],
                at(0),
                at(last)
            ),
        }
    }
}
