//! An experiment: a file, parsed and checked.

use crate::{
    axes::{Axes, Cell, Selection},
    claim::{self, Claim, Scope},
    error::{PaperError, Wrong, parse},
    figure::Figure,
    measure::Measure,
    raw,
    settings::{self, Setting, Settings, Text},
};

/// The setting for the number of seeds a cell.
const SEEDS: &str = "seeds";
/// The option for one seed.
const SEED: &str = "seed";
/// The suffix of a shortened experiment's name.
pub(crate) const QUICK: &str = "@quick";
/// Maximum number of seeds; more would be a mistake.
const MOST_SEEDS: i64 = 1000;

/// An experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name of its paper, which is that of the folder.
    pub paper: String,
    /// Its name, which is that of the file.
    pub name: String,
    /// The file, for messages.
    pub file: String,
    /// Its title.
    pub title: String,
    /// Where it is in the paper.
    pub source: String,
    /// What was measured and how; Markdown.
    pub about: String,
    /// The replacement of an input that is lost.
    pub stand_in: Option<String>,
    /// The axes that are varied.
    pub axes: Axes,
    /// The values taken from results.
    pub measures: Vec<Measure>,
    /// The paper's claims, each about a cell or a group of cells.
    pub claims: Vec<Claim>,
    /// Other interpretations of the text.
    pub readings: Vec<Reading>,
    /// Figures to draw.
    pub figures: Vec<Figure>,
    run: Settings,
    seeds: u32,
    survey: bool,
    without: Vec<Selection>,
    /// Settings of the quick tests, which override all others; `None` if it is not part of them.
    quick: Option<Settings>,
    /// Settings that override all others.
    over: Settings,
}

/// Another interpretation of the text.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its name.
    pub name: String,
    /// The interpretation.
    pub about: String,
    set: Settings,
}

impl Experiment {
    /// Parses an experiment from the text of a file in this folder of this paper.
    ///
    /// # Errors
    /// [`PaperError`], with the file and the field.
    pub fn parse(
        paper: &str,
        folder: &str,
        name: &str,
        file: &str,
        text: &str,
    ) -> Result<Self, PaperError> {
        let raw: raw::Experiment = parse(file, text)?;
        Self::of(paper, folder, name, file, raw).map_err(|wrong| wrong.of(file))
    }

    fn of(
        paper: &str,
        folder: &str,
        name: &str,
        file: &str,
        mut raw: raw::Experiment,
    ) -> Result<Self, Wrong> {
        let seeds = match raw.run.remove(SEEDS) {
            None => 1,
            Some(toml::Value::Integer(n)) if (1..=MOST_SEEDS).contains(&n) => n as u32,
            Some(other) => {
                let what = format!("`{other}` is no number of seeds");
                let remedy = format!("write a number from 1 to {MOST_SEEDS}");
                return Err(Wrong::new(what, remedy).within(SEEDS).within("run"));
            }
        };
        let run = settings::of_table(&raw.run, folder).map_err(|wrong| wrong.within("run"))?;
        let quick = match raw.quick {
            None | Some(raw::Quick::Whole(false)) => None,
            Some(raw::Quick::Whole(true)) => Some(Settings::new()),
            Some(raw::Quick::Shorter(table)) => {
                let settings = settings::of_table(&table, folder).map_err(|w| w.within("quick"))?;
                if settings.contains_key(SEEDS) {
                    let wrong = Wrong::new("the seeds are the experiment's", "leave `seeds` out");
                    return Err(wrong.within("quick"));
                }
                Some(settings)
            }
        };
        let axes = Axes::of(raw.axis, folder)?;
        let measures = raw.measure.into_iter().map(|(name, measure)| {
            Measure::of(&name, measure, &axes).map_err(|w| w.within(&name).within("measure"))
        });
        let measures: Vec<_> = measures.collect::<Result<_, _>>()?;
        let without = raw.without.iter().map(|at| axes.select(at));
        let without: Vec<_> =
            without.collect::<Result<_, _>>().map_err(|wrong| wrong.within("without"))?;
        let ours = raw.ours;
        let scope = Scope { experiment: name, axes: &axes, measures: &measures, without: &without };
        let mut claims: Vec<Claim> = Vec::new();
        for (number, raw) in raw.claim.iter().enumerate() {
            let place = match raw.name.as_deref().or(raw.says.as_deref()) {
                Some(name) => format!("claim {} ({name})", number + 1),
                None => format!("claim {} (of {})", number + 1, raw.measure),
            };
            let expanded = claim::expand(raw, &scope).map_err(|wrong| wrong.within(&place))?;
            for mut claim in expanded {
                claim.part_of = number;
                claim.ours |= ours;
                if claims.iter().any(|other| other.id == claim.id) {
                    let what = format!("there is a claim `{}` already", claim.id);
                    return Err(Wrong::new(what, "give this one a `name`").within(&place));
                }
                claims.push(claim);
            }
        }
        let mut readings: Vec<Reading> = Vec::new();
        for raw::Reading { name, about, set } in raw.reading {
            let place = format!("reading {name}");
            if readings.iter().any(|other| other.name == name) {
                return Err(Wrong::new("there is one already", "call it otherwise").within(&place));
            }
            let set = settings::of_table(&set, folder).map_err(|wrong| wrong.within(&place))?;
            if set.contains_key(SEEDS) {
                let what = "a reading has the seeds of the experiment";
                return Err(Wrong::new(what, "leave `seeds` out").within(&place));
            }
            readings.push(Reading { name, about, set });
        }
        let figures = raw.figure.into_iter().map(|figure| {
            let place = format!("figure {}", figure.name);
            Figure::of(figure, &scope).map_err(|wrong| wrong.within(&place))
        });
        let figures = figures.collect::<Result<_, _>>()?;
        if measures.is_empty() {
            return Err(Wrong::new("it measures nothing", "write a [measure.…]"));
        }
        let experiment = Self {
            paper: paper.into(),
            name: name.into(),
            file: file.into(),
            title: raw.title,
            source: raw.source,
            about: raw.about,
            stand_in: raw.stand_in,
            axes,
            measures,
            claims,
            readings,
            figures,
            run,
            seeds,
            survey: raw.survey,
            without,
            quick,
            over: Settings::new(),
        };
        experiment.check_comparisons()?;
        experiment.check_seed()?;
        Ok(experiment)
    }

    /// The experiment as run in the quick tests; `None` if it is not part of them. A shortened one
    /// has its own name, `table-4@quick`, and so its own record.
    #[must_use]
    pub fn quick(&self) -> Option<Self> {
        let mut quick = self.clone();
        quick.over = self.quick.clone()?;
        if !quick.over.is_empty() {
            quick.name += QUICK;
            for claim in &mut quick.claims {
                let rest = claim.id.strip_prefix(&self.name).unwrap_or(&claim.id);
                claim.id = format!("{}{rest}", quick.name);
            }
        }
        Some(quick)
    }

    /// The measure of this name, which was checked to exist.
    pub(crate) fn measure(&self, name: &str) -> &Measure {
        let found = self.measures.iter().find(|measure| measure.name == name);
        found.expect("claims and figures are checked to name measures that are there")
    }

    /// Whether the cell exists.
    pub(crate) fn has(&self, cell: &Cell) -> bool {
        !self.without.iter().any(|none| none.holds(cell))
    }

    /// Whether all measures of all cells are shown, independent of claims.
    #[must_use]
    pub fn is_survey(&self) -> bool {
        self.survey || self.claims.is_empty()
    }

    /// All cells that exist.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let all = self.axes.select(&raw::At::new());
        let cells = all.map(|all| all.cells(&[])).unwrap_or_default();
        cells.into_iter().filter(|cell| self.has(cell)).collect()
    }

    /// Checks that no claim compares with a cell that was left out.
    fn check_comparisons(&self) -> Result<(), Wrong> {
        for claim in &self.claims {
            let measure = self.measure(&claim.measure);
            let others = claim.needs().filter_map(|cell| measure.other(cell));
            for other in others {
                if !self.has(&other) {
                    return Err(Wrong::new(
                        format!(
                            "{} compares with {}, which `without` leaves out",
                            claim.id,
                            self.axes.name(&other, &[])
                        ),
                        "compare with another cell, or keep it",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Refuses several seeds together with a given seed.
    fn check_seed(&self) -> Result<(), Wrong> {
        let values = self.axes.0.iter().flat_map(|axis| &axis.values);
        let mut all = values
            .map(|value| &value.settings)
            .chain(self.readings.iter().map(|reading| &reading.set))
            .chain([&self.run]);
        if all.clone().any(|settings| settings.contains_key(SEEDS)) {
            return Err(Wrong::new("`seeds` holds for all runs", "write it in [run]"));
        }
        if self.seeds > 1 && all.any(|settings| settings.contains_key(SEED)) {
            return Err(Wrong::new("`seed` and `seeds` contradict each other", "leave one out"));
        }
        Ok(())
    }

    /// The settings of each run of a cell: one a seed.
    pub(crate) fn runs(
        &self,
        cell: &Cell,
        reading: Option<&Reading>,
    ) -> impl Iterator<Item = (u32, Settings)> {
        let mut settings = self.run.clone();
        if let Some(reading) = reading {
            settings::lay(&reading.set, &mut settings);
        }
        for (axis, value) in self.axes.0.iter().zip(&cell.0) {
            settings::lay(&axis.values[*value].settings, &mut settings);
        }
        settings::lay(&self.over, &mut settings);
        // An absent flag is the same as no flag, so that equal runs are recognised.
        settings.retain(|_, setting| *setting != Setting::Flag(false));
        let several = self.seeds > 1;
        (1..=self.seeds).map(move |seed| {
            let mut settings = settings.clone();
            if several {
                settings.insert(SEED.into(), Setting::One(Text::Plain(seed.to_string())));
            }
            (seed, settings)
        })
    }

    /// Number of seeds a cell.
    pub const fn seeds(&self) -> u32 {
        self.seeds
    }
}
