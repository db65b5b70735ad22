//! Names of settings in messages, for each interface.
//!
//! Libraries do not know the command line. Their messages write a setting as `‹capacity›`, and one
//! with a value as `‹clock device›`. The interface that shows a message substitutes its own
//! notation: `--clock device`, `clock='device'`, `clock = "device"`.

use std::borrow::Cow;

/// The interface that shows a message, which decides how settings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// Undecided: names stay as libraries write them.
    #[default]
    Plain,
    /// `--over-provisioning 7%`
    CommandLine,
    /// `over_provisioning='7%'`
    Python,
    /// `over-provisioning = "7%"`
    Toml,
}

impl Door {
    /// Rewrites the settings in a message for this interface.
    #[must_use]
    pub fn words(self, text: &str) -> Cow<'_, str> {
        if self == Self::Plain || !text.contains('‹') {
            return text.into();
        }
        let (mut said, mut rest) = (String::new(), text);
        while let Some((before, behind)) = rest.split_once('‹') {
            said += before;
            rest = match behind.split_once('›').filter(|(inside, _)| is_setting(inside)) {
                Some((inside, after)) => {
                    let (name, value) = match inside.split_once(' ') {
                        Some((name, value)) => (name, Some(value)),
                        None => (inside, None),
                    };
                    said += &self.setting(name, value, after);
                    after
                }
                None => {
                    said.push('‹');
                    behind
                }
            };
        }
        (said + rest).into()
    }

    /// A setting and the text that follows it in the message.
    #[must_use]
    pub fn setting(self, name: &str, value: Option<&str>, after: &str) -> String {
        let bare = |value: &str| value.trim_matches('\'').to_owned();
        match (self, value) {
            (Self::Plain, None) => format!("‹{name}›"),
            (Self::Plain, Some(value)) => format!("‹{name} {value}›"),
            (Self::CommandLine, None) => format!("--{name}"),
            (Self::CommandLine, Some(value)) => format!("--{name} {value}"),
            (Self::Toml, None) => format!("`{name}`"),
            (Self::Toml, Some(value)) => match value.parse::<u64>() {
                Ok(number) => format!("`{name} = {number}`"),
                Err(_) => format!("`{name} = \"{}\"`", bare(value)),
            },
            (Self::Python, None) => {
                let sign = if after.starts_with(':') { "" } else { "=" };
                format!("{}{sign}", name.replace('-', "_"))
            }
            (Self::Python, Some(value)) => match value.parse::<u64>() {
                Ok(number) => format!("{}={number}", name.replace('-', "_")),
                Err(_) => format!("{}='{}'", name.replace('-', "_"), bare(value)),
            },
        }
    }
}

/// Whether the text in brackets begins like a setting. A message may also quote a file name with
/// such brackets.
fn is_setting(inside: &str) -> bool {
    let name = inside.split(' ').next().unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// An error in a setting, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("‹{field}›: {}", self.why())]
pub struct SpecError {
    /// The setting.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// What to do; empty if that is obvious.
    pub remedy: String,
}

impl SpecError {
    /// The error and the remedy, without the name of the setting.
    #[must_use]
    pub fn why(&self) -> String {
        match &*self.remedy {
            "" => self.what.clone(),
            remedy => format!("{}; {remedy}", self.what),
        }
    }
}

/// A setting in the name of an input. Results always use the command line's notation, such as
/// `disk.csv --sample 1/8`, so that they do not depend on the interface.
#[must_use]
pub fn in_results(name: &str, value: &str) -> String {
    Door::CommandLine.setting(name, Some(value), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_door_has_its_own_words() {
        let text =
            "‹queue-depth 0› does nothing; take ‹clock device›, more ‹capacity› or ‹columns 'a=1'›";
        for (door, said) in [
            (Door::Plain, text),
            (
                Door::CommandLine,
                "--queue-depth 0 does nothing; take --clock device, more --capacity or --columns 'a=1'",
            ),
            (
                Door::Python,
                "queue_depth=0 does nothing; take clock='device', more capacity= or columns='a=1'",
            ),
            (
                Door::Toml,
                "`queue-depth = 0` does nothing; take `clock = \"device\"`, more `capacity` or `columns = \"a=1\"`",
            ),
        ] {
            assert_eq!(door.words(text), said);
        }
        assert_eq!(Door::Python.words("‹fill›: no"), "fill: no");
    }

    #[test]
    fn brackets_that_name_no_setting_stay() {
        for text in ["‹Déjà vu›.csv", "‹", "a › b", "‹›", "‹A b›"] {
            assert_eq!(Door::CommandLine.words(text), text);
        }
        assert_eq!(Door::CommandLine.words("‹X›: ‹wrap› it"), "‹X›: --wrap it");
    }
}
