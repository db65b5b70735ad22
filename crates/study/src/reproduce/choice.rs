//! Which papers and experiments are meant, and where their files are.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use thermocline_papers::{File, Paper};
use thermocline_sim::SimError;

use super::papers;
use crate::usage;

/// The word for all papers.
const ALL: &str = "all";
/// The built-in folder's name in messages.
const BUILT_IN: &str = "papers";

/// A paper that was asked for.
pub struct Chosen {
    /// The paper.
    pub paper: Paper,
    /// The experiments that were asked for; all where there are none.
    only: BTreeSet<String>,
    /// Where its files are; in the program where there is none.
    pub place: Option<PathBuf>,
}

impl Chosen {
    /// Whether this experiment was asked for.
    pub fn wants(&self, experiment: &str) -> bool {
        self.only.is_empty() || self.only.contains(experiment)
    }
}

/// Finds and reads everything that was asked for, each paper once.
pub fn choose(what: &[String], folder: Option<&Path>) -> Result<Vec<Chosen>, SimError> {
    let known = names(folder)?;
    let mut places: Vec<(Option<PathBuf>, String, BTreeSet<String>)> = Vec::new();
    let mut add = |place: Option<PathBuf>, name: &str, experiment: Option<&str>| {
        let at = places.iter().position(|(p, n, _)| *p == place && n == name);
        let at = at.unwrap_or_else(|| {
            // Empty stands for all, so what follows must not add to it.
            let only = experiment.iter().map(|name| (*name).to_owned()).collect();
            places.push((place, name.to_owned(), only));
            places.len() - 1
        });
        match experiment {
            None => places[at].2.clear(),
            Some(_) if places[at].2.is_empty() => {}
            Some(experiment) => {
                places[at].2.insert(experiment.to_owned());
            }
        }
    };
    for what in what {
        let (name, experiment) =
            what.split_once('/').map_or((&**what, None), |(n, e)| (n, Some(e)));
        let path = Path::new(what);
        if what == ALL {
            for name in &known {
                add(folder.map(|folder| folder.join(name)), name, None);
            }
        } else if known.iter().any(|known| known == name)
            && experiment.is_none_or(|experiment| !experiment.ends_with(".toml"))
        {
            add(folder.map(|folder| folder.join(name)), name, experiment);
        } else if path.is_file() {
            let folder = path.parent().unwrap_or(Path::new(""));
            let experiment = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            add(Some(folder.to_owned()), &name_of(folder), experiment.as_deref());
        } else if path.is_dir() {
            let mut folders = vec![path.to_owned()];
            if toml_files(path).map_err(|e| unreadable(path, &e))?.is_empty() {
                folders = folders_of_papers(path)?;
            }
            if folders.is_empty() {
                return Err(input(format!(
                    "{what}: there are no TOML files in it, nor in the folders in it; name another"
                )));
            }
            for folder in folders {
                add(Some(folder.clone()), &name_of(&folder), None);
            }
        } else {
            return Err(usage(format!(
                "there is no paper, file or folder `{what}`; take {}, {ALL}, one of their \
                 experiments, or a TOML file",
                known.join(", ")
            )));
        }
    }
    // Records and pages are named by the paper.
    for (at, (_, name, _)) in places.iter().enumerate() {
        if places[..at].iter().any(|(_, other, _)| other == name) {
            return Err(usage(format!(
                "two papers are called {name}; reproduce one after the other"
            )));
        }
    }
    places.into_iter().map(|(place, name, only)| read(place, &name, only)).collect()
}

fn read(place: Option<PathBuf>, name: &str, only: BTreeSet<String>) -> Result<Chosen, SimError> {
    let (shown, files) = match &place {
        None => (format!("{BUILT_IN}/{name}"), papers::files(name)),
        Some(folder) => {
            let shown = folder.display().to_string();
            let mut files = toml_files(here(folder)).map_err(|e| unreadable(folder, &e))?;
            // One experiment does not wait for the others to be right.
            files.retain(|file| {
                let stem = file.name.trim_end_matches(".toml");
                only.is_empty() || only.contains(stem) || is_of_the_paper(&file.name)
            });
            (shown, files)
        }
    };
    let paper = Paper::read(name, &shown, &files).map_err(|e| input(e.to_string()))?;
    for experiment in &only {
        if !paper.experiments.iter().any(|known| known.name == *experiment) {
            let known: Vec<_> = paper.experiments.iter().map(|e| e.name.as_str()).collect();
            let known = known.join(", ");
            return Err(usage(format!("{name} has no experiment `{experiment}`; it has {known}")));
        }
    }
    Ok(Chosen { paper, only, place })
}

fn is_of_the_paper(file: &str) -> bool {
    [thermocline_papers::INFO_FILE, thermocline_papers::RECORD_FILE].contains(&file)
}

/// The papers there are.
fn names(folder: Option<&Path>) -> Result<Vec<String>, SimError> {
    match folder {
        None => Ok(papers::names().into_iter().map(str::to_owned).collect()),
        Some(folder) => {
            Ok(folders_of_papers(folder)?.iter().map(|folder| name_of(folder)).collect())
        }
    }
}

fn folders_of_papers(folder: &Path) -> Result<Vec<PathBuf>, SimError> {
    let listed = || -> io::Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(here(folder))? {
            let path = folder.join(entry?.file_name());
            if path.is_dir() && !toml_files(&path)?.is_empty() {
                folders.push(path);
            }
        }
        folders.sort();
        Ok(folders)
    };
    listed().map_err(|e| unreadable(folder, &e))
}

fn toml_files(folder: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push(File { name, text: fs::read_to_string(&path)? });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// A folder that can be listed: of a file without one it is the working folder.
fn here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// A folder's own name, whatever way leads to it.
fn name_of(folder: &Path) -> String {
    let whole = here(folder).canonicalize();
    let whole = whole.as_deref().unwrap_or(folder);
    whole.file_name().map_or_else(|| "papers".into(), |name| name.to_string_lossy().into_owned())
}

fn unreadable(folder: &Path, error: &io::Error) -> SimError {
    input(format!("{}: {error}; name a folder of papers", folder.display()))
}

fn input(text: String) -> SimError {
    SimError::Input(text)
}

/// The files beside experiments, wherever these are.
#[derive(Default)]
pub struct Beside {
    /// Where files go that are in the program.
    unpacked: Option<TempDir>,
}

impl Beside {
    /// The path of a file in a paper's folder.
    pub fn path(
        &mut self,
        chosen: &[Chosen],
        folder: &str,
        file: &str,
    ) -> Result<PathBuf, SimError> {
        let paper = chosen.iter().find(|chosen| chosen.paper.folder == folder);
        let place = paper.and_then(|chosen| chosen.place.as_deref());
        let missing =
            || input(format!("{folder}/{file}: there is no such file; an experiment wants it"));
        if let Some(place) = place {
            let path = place.join(file);
            return path.is_file().then_some(path).ok_or_else(missing);
        }
        let name = paper.map_or("", |chosen| &*chosen.paper.name);
        let bytes = papers::file(name, file).ok_or_else(missing)?;
        let mut unpack = || -> io::Result<PathBuf> {
            let root = match self.unpacked.take() {
                Some(root) => root,
                None => tempfile::tempdir()?,
            };
            let path = root.path().join(name).join(file);
            fs::create_dir_all(path.parent().unwrap_or(root.path()))?;
            fs::write(&path, bytes)?;
            self.unpacked = Some(root);
            Ok(path)
        };
        unpack().map_err(|error| {
            SimError::Failed(format!("cannot write to the temporary folder: {error}"))
        })
    }
}
