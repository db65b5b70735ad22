//! A name with arguments, as users write it.

use thermocline_policy::Args;

use crate::AssemblyError;

/// A policy name with its arguments: `cat`, `cat(tau=5s)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name.
    pub name: String,
    /// The arguments, in order.
    pub args: Args,
}

impl Call {
    /// Reads `name` or `name(key=value, …)`.
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
        let mut args = Vec::new();
        for pair in inner.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(AssemblyError::Usage(format!("`{text}`: `{pair}` is not key=value")));
            };
            let key = key.trim();
            if args.iter().any(|(other, _)| other == key) {
                return Err(AssemblyError::Usage(format!("`{text}`: `{key}` is given twice")));
            }
            args.push((key.to_owned(), value.trim().to_owned()));
        }
        Ok(Self { name: name.trim().into(), args: Args(args) })
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
        let args: Vec<_> = self.args.0.iter().map(|(k, v)| format!("{k}={v}")).collect();
        format!("{}({})", self.name, args.join(", "))
    }
}
