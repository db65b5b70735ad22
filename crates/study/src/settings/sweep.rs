//! The settings of a sweep: those of a run, with lists of values.

use std::path::PathBuf;

use thermocline_spec::{
    run::RunSpec,
    table::{Group, Info},
};
use thermocline_sweep::Condition;

/// The setting that says how the work is done.
pub const NOT_SWEPT: &str = "threads";
/// Settings whose values have commas: each time one is given is a value.
const REPEATED: [&str; 5] = ["trace", "workload", "columns", "trace-format", "ops"];
/// Settings that together are one value.
const TOGETHER: [&str; 2] = ["volume", "hint"];

/// The settings of a sweep.
#[derive(Debug)]
pub struct SweepSettings {
    /// A TOML file of settings; those of `swept` come before those in it.
    pub file: Option<PathBuf>,
    /// Everything with this many seeds, from the one given on.
    pub seeds: u64,
    /// Search the one range without steps for the value at which this begins to hold.
    pub until: Option<Condition>,
    /// The step between the values that the search may choose.
    pub tolerance: Option<String>,
    /// Lists of values.
    pub swept: Swept,
}

/// Settings of a run, in the order they were given.
#[derive(Clone, Debug, Default)]
pub struct Swept(pub Vec<Given>);

/// A setting, as it was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its name.
    pub option: String,
    /// How its values are written.
    pub kind: Kind,
    /// The texts it was given.
    pub texts: Vec<String>,
}

/// How the values of a setting are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has none.
    Flag,
    /// Lists and ranges.
    List,
    /// Each text is a value.
    Values,
    /// All texts together are one value.
    One,
}

impl Kind {
    /// How values of this setting are written.
    #[must_use]
    pub fn of(info: &Info) -> Self {
        match info.name {
            _ if info.value.is_empty() => Self::Flag,
            name if TOGETHER.contains(&name) => Self::One,
            name if REPEATED.contains(&name) => Self::Values,
            _ => Self::List,
        }
    }
}

impl Given {
    /// A setting with texts. With `listed` each text is one value; otherwise it may be a list or a
    /// range.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(option: &str, mut texts: Vec<String>, listed: bool) -> Result<Self, String> {
        let field = RunSpec::field(option).map_err(|error| error.why())?;
        if option == NOT_SWEPT {
            return Err("cannot be varied; leave it out".into());
        }
        let kind = Kind::of(&field.info);
        if kind != Kind::Flag && texts.is_empty() {
            texts.extend(field.info.alone.map(str::to_owned));
        }
        if (kind == Kind::Flag) != texts.is_empty() {
            return Err(match kind {
                Kind::Flag => "is a flag: write true, or leave it out".into(),
                _ => "needs a value".into(),
            });
        }
        let kind = if listed && kind == Kind::List { Kind::Values } else { kind };
        Ok(Self { option: option.to_owned(), kind, texts })
    }
}

impl Swept {
    /// The file of settings, where it stands behind the traces and was taken for one.
    pub fn take_file(&mut self) -> Option<PathBuf> {
        let traces = self.0.iter_mut().find(|given| given.option == "trace")?;
        let last = traces.texts.last().filter(|text| text.ends_with(".toml"))?;
        let file = PathBuf::from(last);
        traces.texts.pop();
        if traces.texts.is_empty() {
            self.0.retain(|given| given.option != "trace");
        }
        Some(file)
    }
}
