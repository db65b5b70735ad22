//! The settings of a simulation: options of `thermocline run` by name, with values as people write them.

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

    /// As arguments of a program; a value is one with its option, for it may begin with a dash.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let argument = |Setting { option, value }: &Setting| match value {
            None => format!("--{option}"),
            Some(value) => format!("--{option}={value}"),
        };
        self.0.iter().map(argument).collect()
    }

    /// As people type them.
    #[must_use]
    pub fn shown(&self) -> String {
        let shown = |Setting { option, value }: &Setting| match value.as_deref().map(quoted) {
            None => format!("--{option}"),
            Some(value) if value.starts_with('-') => format!("--{option}={value}"),
            Some(value) => format!("--{option} {value}"),
        };
        self.0.iter().map(shown).collect::<Vec<_>>().join(" ")
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
    fn settings_are_arguments_and_a_line() {
        let settings = Settings(vec![
            Setting::new("policy", "cat(tau=1h)"),
            Setting::new("ops", "-trim"),
            Setting::flag("absolute"),
        ]);
        assert_eq!(settings.arguments(), ["--policy=cat(tau=1h)", "--ops=-trim", "--absolute"]);
        assert_eq!(settings.shown(), "--policy 'cat(tau=1h)' --ops=-trim --absolute");
        assert_eq!(settings.value("absolute").as_deref(), Some("true"));
    }
}
