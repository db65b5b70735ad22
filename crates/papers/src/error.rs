//! What is wrong with a file, where, and what to do about it.

/// A file of a paper that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {place}{what}; {remedy}")]
pub struct PaperError {
    /// The file.
    pub file: String,
    /// The line, or the field, with a colon behind it; or nothing.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

/// What is wrong in a place of a file, whose name the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    place: String,
    what: String,
    remedy: String,
}

impl Wrong {
    /// Something wrong, and what to do about it.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: String::new(), what: what.into(), remedy: remedy.into() }
    }

    /// This error with the field it is in; fields around it come later.
    pub fn within(self, field: &str) -> Self {
        let place = match self.place.is_empty() {
            true => field.to_owned(),
            false => format!("{field}, {}", self.place),
        };
        Self { place, ..self }
    }

    /// A name that is not there, and those that are.
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<_> = known.into_iter().collect();
        let remedy = match known.is_empty() {
            true => "there is none".to_owned(),
            false => format!("take {}", listed(&known)),
        };
        Self::new(format!("there is no {what} `{name}`"), remedy)
    }

    /// The error of a file.
    pub fn of(self, file: &str) -> PaperError {
        let place = if self.place.is_empty() { self.place } else { self.place + ": " };
        PaperError { file: file.into(), place, what: self.what, remedy: self.remedy }
    }
}

/// "a, b or c".
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// Reads TOML; the error names the line.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(
    file: &str,
    text: &str,
) -> Result<T, PaperError> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let place = before.map_or_else(String::new, |before| {
            format!("line {}: ", before.matches('\n').count() + 1)
        });
        PaperError {
            file: file.into(),
            place,
            what: error.message().split('\n').collect::<Vec<_>>().join(" "),
            remedy: "papers/README.md describes the format".into(),
        }
    })
}
