//! The settings of a simulation by name, with values as people write them.

use thermocline_units::naming::Door;

/// An option, and its value unless it is a flag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Its name, without dashes.
    pub option: String,
    /// Its value.
    pub value: Option<String>,
}

impl Setting {
    /// An option with a value.
    pub fn new(option: impl Into<String>, value: impl Into<String>) -> Self {
        Self { option: option.into(), value: Some(value.into()) }
    }

    /// An option without.
    pub fn flag(option: impl Into<String>) -> Self {
        Self { option: option.into(), value: None }
    }
}

/// All settings of a simulation that are not left at their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(pub Vec<Setting>);

impl Settings {
    /// The values of an option, one behind another where it is given several times.
    #[must_use]
    pub fn value(&self, option: &str) -> Option<String> {
        let given = self.0.iter().filter(|setting| setting.option == option);
        let values = given.map(|setting| setting.value.as_deref().unwrap_or("true"));
        values.map(str::to_owned).reduce(|all, value| all + "," + &value)
    }

    /// Each by its name, with its value unless it stands alone.
    pub fn given(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|setting| (&*setting.option, setting.value.as_deref()))
    }

    /// As people type them behind a command.
    #[must_use]
    pub fn shown(&self) -> String {
        let shown = |Setting { option, value }: &Setting| {
            typed(option, value.as_deref().map(quoted).as_deref())
        };
        self.0.iter().map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// Settings that may be given without their value: a value stands behind `=`.
const ALSO_ALONE: [&str; 1] = ["settle"];

/// A setting as people type it behind a command, with its value as a shell takes it.
#[must_use]
pub fn typed(option: &str, value: Option<&str>) -> String {
    let named = |value| Door::CommandLine.setting(option, value, "");
    match value {
        Some(value) if value.starts_with('-') || ALSO_ALONE.contains(&option) => {
            format!("{}={value}", named(None))
        }
        value => named(value),
    }
}

/// As a shell takes it.
#[must_use]
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,%@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_shown_as_people_type_them() {
        let settings = Settings(vec![
            Setting::new("policy", "cat(tau=1h)"),
            Setting::new("ops", "-trim"),
            Setting::flag("absolute"),
            Setting::new("settle", "5"),
        ]);
        assert_eq!(settings.shown(), "--policy 'cat(tau=1h)' --ops=-trim --absolute --settle=5");
        assert_eq!(settings.value("absolute").as_deref(), Some("true"));
    }
}
