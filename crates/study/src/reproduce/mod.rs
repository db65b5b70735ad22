//! Papers' experiments: claims beside results.

mod choice;
mod options;
mod papers;
mod runs;

use std::{borrow::Cow, collections::BTreeSet, fmt::Write as _, path::PathBuf};

use serde::Serialize;
use thermocline_papers::{ClaimReport, Counts, Experiment, Paper, Plan, Record, Report};
use thermocline_sim::SimError;

use self::options::Options;
pub use self::{choice::Chosen, papers::names as papers};
use crate::Context;

/// The version of the JSON.
const SCHEMA_VERSION: u32 = 1;

/// What to reproduce, and how.
#[derive(Clone, Debug, Default)]
pub struct ReproduceSettings {
    /// Papers (`cat`), single experiments (`cat/table-4`), `all`; or TOML files and folders of them.
    pub what: Vec<String>,
    /// Folder with one folder for each paper, in place of the built-in ones.
    pub papers: Option<PathBuf>,
    /// Folders of recorded traces; by default those that `THERMOCLINE_TRACES` names.
    pub traces: Vec<PathBuf>,
    /// Only the experiments of the quick tests, some of them shortened, without readings.
    pub quick: bool,
    /// Without the alternative readings of ambiguous texts.
    pub no_readings: bool,
    /// Number of threads; 0 is one a core.
    pub threads: usize,
}

/// Papers that were chosen and read.
pub struct Reproduction<'a> {
    settings: &'a ReproduceSettings,
    chosen: Vec<Chosen>,
}

/// The results of a paper.
pub struct PaperResults<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// Its experiments that were run.
    pub reports: Vec<Report>,
}

/// The results of all papers.
pub struct Reproduced<'a> {
    /// Paper by paper.
    pub papers: Vec<PaperResults<'a>>,
    /// Caveats of the only experiment, one line each.
    pub notes: Vec<String>,
}

/// As JSON has it.
#[derive(Serialize)]
pub struct Listed<'a> {
    schema_version: u32,
    papers: Vec<One<'a>>,
}

#[derive(Serialize)]
struct One<'a> {
    name: &'a str,
    title: &'a str,
    counts: Counts,
    experiments: &'a [Report],
}

impl<'a> Reproduction<'a> {
    /// Finds and reads the papers.
    ///
    /// # Errors
    /// Papers that there are not, or that cannot be read.
    pub fn of(settings: &'a ReproduceSettings) -> Result<Self, SimError> {
        let chosen = choice::choose(&settings.what, settings.papers.as_deref())?;
        Ok(Self { settings, chosen })
    }

    /// The papers.
    #[must_use]
    pub fn chosen(&self) -> &[Chosen] {
        &self.chosen
    }

    fn wanted(&self) -> Vec<Cow<'_, Experiment>> {
        self.chosen
            .iter()
            .flat_map(|chosen| chosen.paper.experiments.iter().map(move |e| (chosen, e)))
            .filter(|(chosen, experiment)| chosen.wants(&experiment.name))
            .filter_map(|(_, experiment)| match self.settings.quick {
                true => experiment.quick().map(Cow::Owned),
                false => Some(Cow::Borrowed(experiment)),
            })
            .collect()
    }

    /// Readings show how sure a number is; that is nothing for a quick test.
    fn with_readings(&self) -> bool {
        !self.settings.no_readings && !self.settings.quick
    }

    fn options(&self) -> Options<'_> {
        Options::new(&self.chosen, options::traces(&self.settings.traces))
    }

    /// The command of every run.
    ///
    /// # Errors
    /// A file that an experiment wants is not there.
    pub fn commands(&self) -> Result<String, SimError> {
        let wanted = self.wanted();
        let plan = Plan::of(wanted.iter().map(AsRef::as_ref), self.with_readings());
        let mut options = self.options();
        let mut text = String::new();
        for run in plan.runs() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# {}\n{}", run.wanted_by, options.command(run)?);
        }
        Ok(text)
    }

    /// Runs everything and judges the claims.
    ///
    /// # Errors
    /// The first run that failed, with its command.
    pub fn run(&self, context: Context<'_>) -> Result<Reproduced<'_>, SimError> {
        let wanted = self.wanted();
        let plan = Plan::of(wanted.iter().map(AsRef::as_ref), self.with_readings());
        let threads = self.settings.threads;
        let ran = runs::run_all(plan.runs(), &mut self.options(), threads, context)?;
        // Whoever looks at one experiment wants to know.
        let one = wanted.len() == 1;
        let notes: BTreeSet<_> = ran.iter().filter(|_| one).flat_map(|ran| &ran.notes).collect();
        let notes = notes.into_iter().cloned().collect();
        let outcomes: Vec<_> = ran.into_iter().map(|ran| ran.outcome).collect();
        let none = Record::default();
        let record = |name: &str| {
            let paper = self.chosen.iter().find(|chosen| chosen.paper.name == name);
            paper.map_or(&none, |chosen| &chosen.paper.record)
        };
        let reports = plan.judge(&outcomes, record).map_err(|e| SimError::Input(e.to_string()))?;
        Ok(Reproduced { papers: by_paper(&self.chosen, reports), notes })
    }
}

impl PaperResults<'_> {
    /// The outcomes of all claims.
    pub fn claims(&self) -> impl Iterator<Item = &ClaimReport> {
        self.reports.iter().flat_map(|report| &report.claims)
    }
}

impl Reproduced<'_> {
    /// As `thermocline reproduce --json` prints it.
    #[must_use]
    pub fn listed(&self) -> Listed<'_> {
        Listed { schema_version: SCHEMA_VERSION, papers: self.papers.iter().map(One::of).collect() }
    }
}

impl<'a> One<'a> {
    fn of(results: &'a PaperResults<'_>) -> Self {
        Self {
            name: &results.paper.name,
            title: results.paper.title(),
            counts: Counts::of(&results.reports),
            experiments: &results.reports,
        }
    }
}

/// The experiments of each paper.
fn by_paper<'a>(chosen: &'a [Chosen], mut reports: Vec<Report>) -> Vec<PaperResults<'a>> {
    let mut papers = Vec::new();
    for chosen in chosen {
        let paper: &Paper = &chosen.paper;
        // The runs stand in the order of the papers.
        let ours = reports.iter().take_while(|report| report.paper == paper.name).count();
        let rest = reports.split_off(ours);
        papers.push(PaperResults { paper, reports: std::mem::replace(&mut reports, rest) });
    }
    papers
}
