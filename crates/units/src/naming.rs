//! How messages name settings, at every door.
//!
//! A library knows no command line. Its messages name a setting `‹capacity›`, and one with a value `‹clock device›`. The
//! door that shows a message writes the names as its users do: `--clock device`, `clock='device'`, `clock = "device"`.

use std::borrow::Cow;

/// Who reads a message, and how they write settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// Nobody yet: names stay as libraries write them.
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
    /// A message, with settings as users of this door write them.
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

    /// A setting, and what follows it in the message.
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

/// Whether a text in such brackets begins as a setting does: a message may quote the brackets of a file's name.
fn is_setting(inside: &str) -> bool {
    let name = inside.split(' ').next().unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// What is wrong with a setting, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("‹{field}›: {}", self.why())]
pub struct SpecError {
    /// The setting.
    pub field: String,
    /// What is wrong with it.
    pub what: String,
    /// What to do; empty where that is plain.
    pub remedy: String,
}

impl SpecError {
    /// What is wrong and what to do, without the setting.
    #[must_use]
    pub fn why(&self) -> String {
        match &*self.remedy {
            "" => self.what.clone(),
            remedy => format!("{}; {remedy}", self.what),
        }
    }
}

/// A setting in the name of an input. Results name an input as a command line asks for it, `disk.csv --sample 1/8`,
/// whoever asked: they do not depend on the door.
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
