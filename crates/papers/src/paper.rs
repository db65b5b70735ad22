//! A paper: its folder, read.

use crate::{
    error::{PaperError, Wrong, parse},
    experiment::Experiment,
    raw,
    record::Record,
};

/// The file that says what the paper is.
pub const INFO_FILE: &str = "paper.toml";
/// The file with the verdicts as last accepted.
pub const RECORD_FILE: &str = "verdicts.toml";

/// A paper.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Its name: the folder's.
    pub name: String,
    /// The folder, for messages.
    pub folder: String,
    /// What it is, where the folder says.
    pub info: Option<Info>,
    /// Its experiments, by name.
    pub experiments: Vec<Experiment>,
    /// Its verdicts as last accepted.
    pub record: Record,
}

/// What a paper is.
#[derive(Clone, Debug)]
pub struct Info {
    /// What it is called here.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Who wrote it.
    pub authors: String,
    /// When it came out.
    pub year: i64,
    /// Where.
    pub venue: String,
    /// What the mechanism is; Markdown.
    pub about: String,
    /// When it wins today; Markdown.
    pub today: String,
    /// Whether it is no paper but questions of ours.
    pub ours: bool,
}

/// A file in the folder of a paper.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl Paper {
    /// Whether it is no paper but questions of ours, whose verdicts do not count.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.ours)
    }

    /// Reads a paper from the TOML files of its folder, which is called so in messages.
    ///
    /// # Errors
    /// [`PaperError`] of the first file that is wrong.
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

    /// What readers call it.
    #[must_use]
    pub fn title(&self) -> &str {
        self.info.as_ref().map_or(&self.name, |info| &info.title)
    }
}

fn info(path: &str, text: &str) -> Result<Info, PaperError> {
    let raw::Paper { name, title, authors, year, venue, about, today, ours } = parse(path, text)?;
    Ok(Info { name, title, authors, year, venue, about, today, ours })
}

/// `figure-9` comes before `figure-10`.
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
