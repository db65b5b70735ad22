//! From settings and a file to a grid.

use std::fs;

use thermocline_sim::SimError;
use thermocline_sweep::{Axis, Cell, Grid, Setting, Settings, Values, listed, read_file};

use crate::{
    Door,
    settings::{
        kinds,
        run::RunSpec,
        sweep::{Given, Kind, SweepSettings},
        table::Group,
    },
    usage,
};

/// The axis of inputs, which comes first.
const INPUTS: [&str; 2] = ["trace", "workload"];
/// The option of seeds.
pub const SEED: &str = "seed";
/// The one option of `sweep` that a file may set.
const SEEDS: &str = "seeds";

/// A requested sweep.
pub struct Asked {
    /// All axes but the seeds and the searched one.
    pub grid: Grid,
    /// The seeds, if there are several.
    seeds: Option<Axis>,
    /// The axis that is searched.
    pub open: Option<Open>,
}

/// An axis that is searched.
pub struct Open {
    /// The option.
    pub option: String,
    /// The values it may have, in order.
    pub values: Vec<String>,
    /// The step between them.
    pub step: String,
}

impl Asked {
    /// Puts the settings of the command line over those of the file.
    pub fn of(args: &SweepSettings) -> Result<Self, SimError> {
        let (mut given, mut seeds) = (Vec::new(), args.seeds);
        if let Some(file) = &args.file {
            (given, seeds) = of_file(&file.display().to_string(), seeds)?;
        }
        for option in &args.swept.0 {
            match given.iter_mut().find(|known: &&mut Given| known.option == option.option) {
                Some(known) => *known = option.clone(),
                None => given.push(option.clone()),
            }
        }
        let mut asked = Self { grid: Grid::default(), seeds: None, open: None };
        let inputs = given.iter().filter(|given| INPUTS.contains(&given.option.as_str()));
        let mut inputs: Vec<_> = inputs.flat_map(settings).collect();
        // Traces come first, as in `compare`.
        inputs.sort_by_key(|setting| setting.option != INPUTS[0]);
        if inputs.is_empty() {
            return Err(usage("a sweep needs an input; give it ‹trace› or ‹workload›"));
        }
        if inputs.iter().any(|s| s.option == INPUTS[0] && s.value.as_deref() == Some("-")) {
            return Err(usage(
                "standard input cannot be read again when a sweep goes on; write the trace to a file \
                 (`thermocline trace convert - trace.tct`)",
            ));
        }
        asked.grid.axes.push(Axis { name: "input".into(), values: inputs });
        for given in given.iter().filter(|given| !INPUTS.contains(&given.option.as_str())) {
            asked.add(given, args)?;
        }
        if seeds > 1 {
            asked.seeds = Some(take_seeds(&mut asked.grid, seeds)?);
        }
        if args.until.is_some() && asked.open.is_none() {
            return Err(usage(
                "‹until› searches a range without steps; give it one, as in ‹over-provisioning \
                 2%..60%›",
            ));
        }
        Ok(asked)
    }

    fn add(&mut self, given: &Given, args: &SweepSettings) -> Result<(), SimError> {
        let option = &given.option;
        let wrong = |why: String| usage(format!("‹{option}›: {why}"));
        let mut values = Vec::new();
        match given.kind {
            Kind::Flag | Kind::One => {
                self.grid.fixed.extend(settings(given));
                return Ok(());
            }
            Kind::Values => values.extend(given.texts.iter().cloned()),
            Kind::List => {
                for text in &given.texts {
                    match listed(text).map_err(wrong)? {
                        Values::Listed(more) => values.extend(more),
                        Values::Open(all, step) => {
                            self.search(option, text, (all, step), args)?;
                            return Ok(());
                        }
                    }
                }
            }
        }
        let values = values.into_iter().map(|value| Setting::new(option, value)).collect();
        self.grid.axes.push(Axis { name: option.clone(), values });
        Ok(())
    }

    /// Takes note of a range without steps.
    fn search(
        &mut self,
        option: &str,
        text: &str,
        (values, step): (Vec<String>, String),
        args: &SweepSettings,
    ) -> Result<(), SimError> {
        if args.until.is_none() {
            return Err(usage(format!(
                "‹{option}› {text} has no steps; write {text}/STEP, or search it with ‹until›"
            )));
        }
        if let Some(other) = &self.open {
            return Err(usage(format!(
                "‹until› searches one range, and ‹{}› and ‹{option}› are two; write one with steps",
                other.option
            )));
        }
        let (values, step) = match &args.tolerance {
            None => (values, step),
            Some(step) => match listed(&format!("{text}/{step}")) {
                Ok(Values::Listed(values)) => (values, step.clone()),
                Ok(Values::Open(..)) => unreachable!("it has steps"),
                Err(why) => return Err(usage(format!("‹tolerance›: {why}"))),
            },
        };
        self.open = Some(Open { option: option.to_owned(), values, step });
        Ok(())
    }

    /// Every cell of the grid, the seeds turning fastest.
    pub fn cells(&self) -> Vec<Cell> {
        self.without_foreign(self.whole().cells())
    }

    /// The grid with its seeds.
    pub fn whole(&self) -> Grid {
        let mut grid = self.grid.clone();
        grid.axes.extend(self.seeds.clone());
        grid
    }

    /// Every cell of the grid without seeds and without a value of the axis that is searched.
    pub fn groups(&self) -> Vec<Cell> {
        self.without_foreign(self.grid.cells())
    }

    /// A cell of a group for each seed.
    pub fn cells_at(&self, group: &Cell, open: &Open, value: usize) -> Vec<Cell> {
        let setting = Setting::new(&open.option, &open.values[value]);
        let seeds = self.seeds.iter().flat_map(|axis| axis.values.iter().cloned().map(Some));
        let seeds: Vec<_> = if self.seeds.is_some() { seeds.collect() } else { vec![None] };
        let cell = |seed: Option<Setting>| {
            let of = |setting: &Setting| {
                format!(", {} {}", setting.option, setting.value.as_deref().unwrap_or_default())
            };
            let more: Vec<_> = [setting.clone()].into_iter().chain(seed).collect();
            let name = group.name.clone() + &more.iter().map(of).collect::<String>();
            let settings = group.settings.0.iter().cloned().chain(more).collect();
            Cell { settings: Settings(settings), name: name.trim_start_matches(", ").to_owned() }
        };
        seeds.into_iter().map(cell).collect()
    }

    /// Every option that some cell sets, the first columns of the table.
    pub fn options(&self) -> Vec<String> {
        let mut options = self.grid.options();
        options.extend(self.open.as_ref().map(|open| open.option.clone()));
        options.extend(self.seeds.as_ref().map(|axis| axis.name.clone()));
        options
    }

    /// With traces and workloads, options for one kind of input are not for the other.
    pub fn without_foreign(&self, mut cells: Vec<Cell>) -> Vec<Cell> {
        let inputs = &self.grid.axes[0].values;
        let mixed = INPUTS.iter().all(|kind| inputs.iter().any(|input| input.option == *kind));
        if !mixed {
            return cells;
        }
        for cell in &mut cells {
            let input = cell.settings.0.iter().find(|s| INPUTS.contains(&s.option.as_str()));
            let Some(kind) = input.map(|input| input.option.clone()) else { continue };
            let foreign = |setting: &Setting| {
                let field = RunSpec::field(&setting.option);
                field.is_ok_and(|field| kinds::is_foreign(&field.info, &kind))
            };
            cell.settings.0.retain(|setting| !foreign(setting));
        }
        cells
    }
}

/// `seeds` seeds from the grid's own on, which is removed from the grid.
fn take_seeds(grid: &mut Grid, seeds: u64) -> Result<Axis, SimError> {
    let at = grid.axes.iter().position(|axis| axis.name == SEED);
    let first: u64 = match at.map(|at| grid.axes.remove(at).values).as_deref() {
        None => 1,
        Some([Setting { value: Some(first), .. }]) => {
            first.parse().map_err(|_| usage(format!("‹{SEED}›: `{first}` is no whole number")))?
        }
        Some(_) => {
            return Err(usage(
                "‹seeds› counts from one ‹seed›; list the seeds, or leave out ‹seeds›",
            ));
        }
    };
    let seed = |more| Setting::new(SEED, first.wrapping_add(more).to_string());
    Ok(Axis { name: SEED.into(), values: (0..seeds).map(seed).collect() })
}

/// The settings of an option, one for each time it is given.
fn settings(given: &Given) -> Vec<Setting> {
    match given.kind {
        Kind::Flag => vec![Setting::flag(&given.option)],
        _ => given.texts.iter().map(|text| Setting::new(&given.option, text)).collect(),
    }
}

/// The options of a file, and its number of seeds.
fn of_file(name: &str, mut seeds: u64) -> Result<(Vec<Given>, u64), SimError> {
    let no_grid = |error: SimError| match name.ends_with(".toml") {
        true => error,
        false => SimError::Input(format!(
            "{error}; a file of settings is TOML, and a trace is named by ‹trace {name}›"
        )),
    };
    let read = fs::read_to_string(name).map_err(|e| SimError::Input(format!("{name}: {e}")));
    let text = read.map_err(no_grid)?;
    let mut given = Vec::new();
    for (option, texts, listed) in read_file(name, &text).map_err(no_grid)? {
        let wrong = |why: String| {
            SimError::Input(format!("{name}: `{option}`: {}", Door::Toml.words(&why)))
        };
        if option == SEEDS {
            let count = texts.first().and_then(|text| text.parse().ok());
            let count = count.ok_or_else(|| wrong("is a whole number, as in seeds = 5".into()))?;
            seeds = if seeds > 1 { seeds } else { count };
            continue;
        }
        given.push(Given::of(&option, texts, listed).map_err(wrong)?);
    }
    Ok((given, seeds))
}
