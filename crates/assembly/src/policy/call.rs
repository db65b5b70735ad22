//! A name with arguments, as users write it.

use thermocline_policy::{Args, expression, placement::STREAM, victim::SCORE};
use thermocline_units::split_list;

use crate::AssemblyError;

/// A policy name with its arguments: `cat`, `cat(tau=5s)`, `score(valid / age)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name.
    pub name: String,
    /// The arguments, in order.
    pub args: Args,
}

impl Call {
    /// Reads `name` or `name(key=value, …)`. A policy that is an expression has it without a key.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], naming the expected form.
    pub fn parse(text: &str) -> Result<Self, AssemblyError> {
        let text = text.trim();
        let Some((name, rest)) = text.split_once('(') else {
            return Ok(Self { name: text.into(), args: Args::default() });
        };
        let Some(inner) = rest.strip_suffix(')') else {
            return Err(AssemblyError::Usage(format!("`{text}`: the bracket is not closed")));
        };
        let name = name.trim();
        let mut args = Vec::new();
        for pair in &split_list(inner) {
            let (key, value) = match (keyed(pair), expression::parameter_without_key(name)) {
                (Some(keyed), _) => keyed,
                (None, Some(key)) => (key, pair.as_str()),
                (None, None) => {
                    return Err(AssemblyError::Usage(format!(
                        "`{text}`: `{pair}` is not key=value, and only `{SCORE}` and `{STREAM}` take an expression"
                    )));
                }
            };
            if args.iter().any(|(other, _)| other == key) {
                return Err(AssemblyError::Usage(format!("`{text}`: `{key}` is given twice")));
            }
            args.push((key.to_owned(), value.trim().to_owned()));
        }
        Ok(Self { name: name.into(), args: Args(args) })
    }

    /// Takes an argument out.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        let at = self.args.0.iter().position(|(other, _)| other == key)?;
        Some(self.args.0.remove(at).1)
    }

    /// Gives an argument, in place of the one there is.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.args.0.retain(|(other, _)| other != key);
        self.args.0.push((key.into(), value.into()));
    }

    /// As the user would write it.
    #[must_use]
    pub fn show(&self) -> String {
        if self.args.0.is_empty() {
            return self.name.clone();
        }
        let without = expression::parameter_without_key(&self.name);
        let arg = |(key, value): &(String, String)| match without == Some(key) {
            true => value.clone(),
            false => format!("{key}={value}"),
        };
        let args: Vec<_> = self.args.0.iter().map(arg).collect();
        format!("{}({})", self.name, args.join(", "))
    }
}

/// An argument with a key. What stands before `=` in `valid <= 3` is none.
fn keyed(pair: &str) -> Option<(&str, &str)> {
    let (key, value) = pair.split_once('=')?;
    let is_part = |sign: char| !sign.is_ascii_punctuation() || matches!(sign, '-' | '_');
    Some((key.trim(), value)).filter(|(key, _)| key.chars().all(is_part))
}
