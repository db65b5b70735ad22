//! Questions and their answers.

use serde::{Deserialize, Serialize};
use thermocline_assembly::PolicySpec;
use thermocline_report::{
    compared::{Compared, Refused, Row, answer_for},
    comparison::{self, Repeat},
};
use thermocline_sim::traffic::Traffic;
use thermocline_study::{
    Comparison, Door, Listed, Run, SimError, SpecError, catalogue,
    jobs::Extras,
    settings::{compare::CompareSettings, run::RunSpec, table::Group},
};

use crate::{
    repeat::{self, Setting},
    watched,
    work::{Page, Work},
};

#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
enum Question {
    Catalogue,
    Check { policy: String },
    Run { settings: Vec<Setting> },
    Compare { settings: Vec<Setting> },
    Answer { settings: Vec<Setting>, parts: Vec<Part> },
    Report { settings: Vec<Setting>, parts: Vec<Part> },
    Watch { settings: Vec<Setting>, excerpt: watched::Part },
    Replay { settings: Vec<Setting>, excerpt: watched::Part, parts: Vec<watched::Recorded> },
}

impl Question {
    /// With settings as a command line has them.
    fn plain(mut self) -> Self {
        use Question::{Answer, Catalogue, Check, Compare, Replay, Report, Run, Watch};
        match &mut self {
            Compare { settings }
            | Answer { settings, .. }
            | Report { settings, .. }
            | Watch { settings, .. }
            | Replay { settings, .. } => *settings = repeat::plain(std::mem::take(settings)),
            Catalogue | Check { .. } | Run { .. } => {}
        }
        self
    }
}

/// What a worker or a page gets.
#[derive(Serialize)]
struct Answer<T> {
    /// What was asked for.
    value: T,
    /// Remarks, one line each.
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Failed {
    error: String,
}

#[derive(Serialize)]
struct Catalogue<P, D, W> {
    version: &'static str,
    policies: P,
    devices: D,
    workloads: W,
}

/// A part of a comparison: the answer that a worker got, with the policy that it was about.
#[derive(Deserialize)]
struct Part {
    policy: String,
    answer: PartAnswer,
}

#[derive(Deserialize)]
struct PartAnswer {
    #[serde(default)]
    value: Vec<Compared>,
    error: Option<String>,
}

#[derive(Serialize)]
struct Answered {
    /// The answer, in words.
    sentence: String,
    /// The policy to choose; none if nothing tells them apart.
    best: Option<String>,
    /// The command that does the same.
    command: String,
    /// The same as a grid for `thermocline sweep`.
    grid: String,
    /// As `thermocline compare --json` prints it.
    json: String,
}

/// Answers a question: JSON from JSON. What goes wrong is in the answer, as `error`.
pub fn answer(question: &str, page: Page) -> String {
    answered(question, page).unwrap_or_else(|error| {
        let error = Door::CommandLine.words(&error.to_string()).into_owned();
        written(&Failed { error }).unwrap_or_default()
    })
}

fn answered(question: &str, page: Page) -> Result<String, SimError> {
    let question: Question = serde_json::from_str(question)
        .map_err(|e| SimError::Usage(format!("the question: {e}")))?;
    let work = Work::new(page);
    match question.plain() {
        Question::Catalogue => {
            let value = Catalogue {
                version: env!("CARGO_PKG_VERSION"),
                policies: catalogue::policies(),
                devices: catalogue::devices(),
                workloads: catalogue::workloads(),
            };
            written(&Answer { value, notes: Vec::new() })
        }
        Question::Check { policy } => {
            // Its value is what is wrong.
            let wrong = PolicySpec::of(Some(&policy), None, None).err();
            let value = wrong.map_or_else(String::new, |error| words(&error.to_string()));
            written(&Answer { value, notes: Vec::new() })
        }
        Question::Run { settings } => {
            let settings = RunSpec::of(pairs(&settings)).map_err(usage)?;
            let run = Run::of(&settings, work.context())?;
            let ran = run.run(work.extras(Extras::default()), work.context())?;
            let value = ran.result().stable_json();
            written(&Answer { value, notes: work.notes(ran.notes) })
        }
        Question::Compare { settings } => {
            let settings = of_page(&settings)?;
            let comparison = Comparison::of(&settings, work.context())?;
            // The traffic is the same for every policy, and the answer needs none of it: the report reads it once.
            let extras = work.extras(Extras { history: true, ..Extras::default() });
            let mut done = comparison.run(extras, work.context())?;
            // What it cost to run here is not what it would cost elsewhere.
            let runs = done.inputs.iter_mut().flat_map(|input| &mut input.rows);
            runs.filter_map(|row| row.runs.as_mut().ok()).flatten().for_each(|run| run.perf = None);
            written(&Answer { value: done.inputs, notes: work.notes(done.notes) })
        }
        Question::Answer { settings, parts } => {
            let wish = of_page(&settings)?.many.wish();
            let inputs = [merged(parts)?];
            let lead = comparison::lead(&inputs, wish);
            let json = serde_json::to_string_pretty(&Listed::of(&inputs, wish)).map_err(no_json)?;
            let value = Answered {
                sentence: words(lead.first().map_or("", String::as_str)),
                best: answer_for(wish, &[&inputs[0]]).best,
                command: repeat::command("compare", &settings),
                grid: repeat::grid(&settings),
                json,
            };
            written(&Answer { value, notes: Vec::new() })
        }
        Question::Report { settings, parts } => {
            let wish = of_page(&settings)?.many.wish();
            let ran = parts.iter().find(|part| part.answer.error.is_none());
            let traffic = ran.map(|part| traffic(&settings, &part.policy, &work)).transpose()?;
            let inputs = [Compared { traffic: traffic.flatten(), ..merged(parts)? }];
            let version = format!("thermocline {}", env!("CARGO_PKG_VERSION"));
            let repeat = Repeat { command: repeat::command("compare", &settings), version };
            let page = comparison::page(&inputs, wish, &repeat);
            let html = page.render().map_err(|e| SimError::Failed(format!("cannot draw {e}")))?;
            written(&Answer { value: words(&html), notes: Vec::new() })
        }
        Question::Watch { settings, excerpt } => {
            let value = watched::run(&settings, excerpt, &work)?;
            written(&Answer { value, notes: work.notes(Vec::new()) })
        }
        Question::Replay { settings, excerpt, parts } => {
            let value = watched::page(&settings, excerpt, parts)?;
            written(&Answer { value, notes: Vec::new() })
        }
    }
}

/// The settings of a comparison of which each policy runs in a worker of its own.
fn of_page(settings: &[Setting]) -> Result<CompareSettings, SimError> {
    let settings = CompareSettings::of(pairs(settings)).map_err(usage)?;
    let whole = [("per-volume", settings.many.per_volume), ("fdp", settings.many.fdp.is_some())];
    match whole.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(settings),
        Some((name, _)) => Err(SimError::Usage(format!(
            "‹{name}› is no setting of the playground, which runs each policy apart; leave it out, or use the command line"
        ))),
    }
}

/// The host's requests, as a policy that ran gets them.
fn traffic(settings: &[Setting], policy: &str, work: &Work) -> Result<Option<Traffic>, SimError> {
    let others = pairs(settings).filter(|(name, _)| *name != "policies");
    let settings =
        CompareSettings::of(others.chain([("policies", Some(policy))])).map_err(usage)?;
    let each = Comparison::of(&settings, work.context())?.traffic(work.context())?;
    Ok(each.into_iter().next().flatten())
}

pub fn pairs(settings: &[Setting]) -> impl Iterator<Item = (&str, Option<&str>)> {
    settings.iter().map(|Setting(name, value)| (name.as_str(), value.as_deref()))
}

pub fn usage(error: SpecError) -> SimError {
    SimError::Usage(error.to_string())
}

fn words(text: &str) -> String {
    Door::CommandLine.words(text).into_owned()
}

fn written(value: &impl Serialize) -> Result<String, SimError> {
    serde_json::to_string(value).map_err(no_json)
}

fn no_json(error: serde_json::Error) -> SimError {
    SimError::Failed(format!("no JSON: {error}"))
}

/// One comparison of what workers did on one input.
fn merged(parts: Vec<Part>) -> Result<Compared, SimError> {
    let mut whole: Option<Compared> = None;
    let mut rows = Vec::new();
    for Part { policy, answer } in parts {
        if let Some(error) = answer.error {
            let refused = Refused { trace: String::new(), policy: policy.clone(), error };
            rows.push(Row { policy, runs: Err(refused), history: None });
        }
        for mut part in answer.value {
            rows.append(&mut part.rows);
            whole.get_or_insert(part);
        }
    }
    let whole = whole.ok_or_else(|| SimError::Usage("no policy ran; choose others".into()))?;
    for refused in rows.iter_mut().filter_map(|row| row.runs.as_mut().err()) {
        refused.trace.clone_from(&whole.input);
    }
    Ok(Compared { rows, ..whole })
}
