//! A paper, read from its folder.

use crate::{
    error::{PaperError, Wrong, parse},
    experiment::Experiment,
    raw,
    record::Record,
};

/// The file that describes the paper.
pub const INFO_FILE: &str = "paper.toml";
/// The file with the accepted verdicts.
pub const RECORD_FILE: &str = "verdicts.toml";

/// A paper.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Its name, which is that of the folder.
    pub name: String,
    /// The folder, for messages.
    pub folder: String,
    /// The description, if the folder has one.
    pub info: Option<Info>,
    /// Its experiments, by name.
    pub experiments: Vec<Experiment>,
    /// The accepted verdicts.
    pub record: Record,
}

/// The description of a paper.
#[derive(Clone, Debug)]
pub struct Info {
    /// Its short name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its authors.
    pub authors: String,
    /// Year of publication.
    pub year: i64,
    /// Where it was published.
    pub venue: String,
    /// Description of the mechanism; Markdown.
    pub about: String,
    /// When the mechanism still wins today; Markdown.
    pub today: String,
    /// Whether it is not a paper but a set of our own questions.
    pub ours: bool,
}

/// A file in the folder of a paper.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
}

impl Paper {
    /// Whether it is not a paper but a set of our own questions, whose verdicts do not count.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.ours)
    }

    /// Reads a paper from the TOML files of its folder. `folder` is used in messages.
    ///
    /// # Errors
    /// [`PaperError`] of the first invalid file.
    pub fn read(name: &str, folder: &str, files: &[File]) -> Result<Self, PaperError> {
        let mut paper = Self {
            name: name.into(),
            folder: folder.into(),
            info: None,
            experiments: Vec::new(),
            record: Record::default(),
        };
        for file in files {
            let path = match folder {
                "" => file.name.clone(),
                folder => format!("{folder}/{}", file.name),
            };
            match file.name.as_str() {
                INFO_FILE => paper.info = Some(info(&path, &file.text)?),
                RECORD_FILE => paper.record = Record::read(&path, &file.text)?,
                other => {
                    let experiment = other.strip_suffix(".toml").unwrap_or(other);
                    let text = &file.text;
                    let read = Experiment::parse(name, folder, experiment, &path, text)?;
                    paper.experiments.push(read);
                }
            }
        }
        if paper.is_ours() {
            let claims = paper.experiments.iter_mut().flat_map(|experiment| &mut experiment.claims);
            claims.for_each(|claim| claim.ours = true);
        }
        paper.experiments.sort_by_key(|experiment| natural(&experiment.name));
        let mut names: Vec<(&str, &str)> = Vec::new();
        for experiment in &paper.experiments {
            for figure in &experiment.figures {
                if let Some((_, file)) = names.iter().find(|(name, _)| *name == figure.name) {
                    let what = format!("{file} has a figure `{}` too", figure.name);
                    let wrong = Wrong::new(what, "call this one otherwise");
                    return Err(wrong.within("figure").of(&experiment.file));
                }
                names.push((&figure.name, &experiment.file));
            }
        }
        Ok(paper)
    }

    /// Its title for readers.
    #[must_use]
    pub fn title(&self) -> &str {
        self.info.as_ref().map_or(&self.name, |info| &info.title)
    }
}

fn info(path: &str, text: &str) -> Result<Info, PaperError> {
    let raw::Paper { name, title, authors, year, venue, about, today, ours } = parse(path, text)?;
    Ok(Info { name, title, authors, year, venue, about, today, ours })
}

/// A sort key with which `figure-9` comes before `figure-10`.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(word);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(digits);
        parts.push((0, text.to_owned()));
        parts.push((number.parse().unwrap_or(u64::MAX), String::new()));
        rest = tail;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_the_order_of_their_numbers() {
        let mut names = ["figure-10b", "table-4", "figure-9", "figure-10a"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["figure-9", "figure-10a", "figure-10b", "table-4"]);
    }
}
