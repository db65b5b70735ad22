//! `serve --config FILE`: options of a server from a TOML file. They become arguments before those of the command line
//! are understood, so that file and command line mean the same.

use std::{env, ffi::OsString, fs};

use clap::{Command, Error, error::ErrorKind};
use thermocline_sweep::read_file;

/// The command that has one.
const SERVE: &str = "serve";
/// The option that names it.
const OPTION: &str = "config";
/// The key of the positional argument.
const CHIPS: &str = "chips";
/// Where systemd puts the credentials of a service, as values may begin.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// The arguments with those of the file, if one is named. An option of the command line comes before the file's.
pub fn with_file(command: &mut Command, mut words: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    let first = words.iter().skip(1).position(|word| !word.to_string_lossy().starts_with('-'));
    let Some(serve) = first.map(|at| at + 1).filter(|at| words[*at] == SERVE) else {
        return Ok(words);
    };
    let Some(serving) = command.find_subcommand_mut(SERVE) else { return Ok(words) };
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let given = |option: &str| {
        let (alone, with) = (format!("--{option}"), format!("--{option}="));
        words[serve..].iter().position(|word| {
            let word = text(word);
            word == alone || word.starts_with(&with)
        })
    };
    let Some(at) = given(OPTION).map(|at| serve + at) else { return Ok(words) };
    let named = text(&words[at]);
    let path = match named.split_once('=') {
        Some((_, path)) => path.to_owned(),
        None => words.get(at + 1).map(text).unwrap_or_default(),
    };
    let wrong = |why: String| serving.clone().error(ErrorKind::ValueValidation, why);
    let content = fs::read_to_string(&path).map_err(|e| wrong(format!("--config {path}: {e}")))?;
    let options = read_file(&path, &content).map_err(|e| wrong(e.to_string()))?;
    let (mut more, mut chips) = (Vec::new(), Vec::new());
    for (option, values, _) in options {
        let values: Result<Vec<String>, String> =
            values.iter().map(|value| expanded(value)).collect();
        let values = values.map_err(|why| wrong(format!("{path}: {option}: {why}")))?;
        let known = serving.get_arguments().any(|arg| arg.get_long() == Some(&option));
        match option.as_str() {
            CHIPS => chips.extend(values.into_iter().map(OsString::from)),
            _ if option == OPTION || !known => {
                return Err(wrong(format!(
                    "{path}: `{option}` is no option of `thermocline serve`; `chips` and the options of \
                     `thermocline serve --help` are, without their hyphens in front"
                )));
            }
            _ if given(&option).is_some() => {}
            _ if values.is_empty() => more.push(format!("--{option}").into()),
            _ => more.extend(values.iter().map(|value| format!("--{option}={value}").into())),
        }
    }
    words.splice(serve + 1..serve + 1, more);
    words.extend(chips);
    Ok(words)
}

/// A value with the folder of credentials in it.
fn expanded(value: &str) -> Result<String, String> {
    let Some(rest) = value.strip_prefix(&format!("${{{CREDENTIALS}}}")) else {
        return Ok(value.to_owned());
    };
    match env::var(CREDENTIALS) {
        Ok(folder) => Ok(folder + rest),
        Err(_) => Err(format!(
            "{CREDENTIALS} is not set; systemd sets it where the unit has LoadCredential="
        )),
    }
}
