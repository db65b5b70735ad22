//! Errors in a file: what, where, and the remedy.

/// An error in a file of a paper.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {place}{what}; {remedy}")]
pub struct PaperError {
    /// The file.
    pub file: String,
    /// The line or the field, followed by a colon; may be empty.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

/// An error in a file whose name the caller adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    place: String,
    what: String,
    remedy: String,
}

impl Wrong {
    /// An error with its remedy.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: String::new(), what: what.into(), remedy: remedy.into() }
    }

    /// Prepends a field to the place of the error. Inner fields are added first.
    pub fn within(self, field: &str) -> Self {
        let place = match self.place.is_empty() {
            true => field.to_owned(),
            false => format!("{field}, {}", self.place),
        };
        Self { place, ..self }
    }

    /// An unknown name, with the known ones.
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<_> = known.into_iter().collect();
        let remedy = match known.is_empty() {
            true => "there is none".to_owned(),
            false => format!("take {}", listed(&known)),
        };
        Self::new(format!("there is no {what} `{name}`"), remedy)
    }

    /// Adds the name of the file.
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

/// Parses TOML; the error names the line.
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
