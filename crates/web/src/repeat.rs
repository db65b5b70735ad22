//! What a page asked for, for whoever goes on without it: a command line, and a grid file.

use serde::Deserialize;
use thermocline_study::settings::{
    compare::CompareSettings,
    run::RunSpec,
    sweep::NOT_SWEPT,
    table::{Field, Group},
};
use thermocline_sweep::{quoted, typed};
use thermocline_units::split_list;

/// Settings of which `compare` takes several values with commas between.
const LISTS: [&str; 5] = ["policies", "victim", "placement", "idle", "dead-data"];

/// The setting of a comparison that a grid has, too.
const SEEDS: &str = "seeds";

/// A setting by its name; no value for a flag.
#[derive(Clone, Debug, Deserialize)]
pub struct Setting(pub String, pub Option<String>);

/// The settings as a command line takes them: by their own names, and flags without a value.
pub fn plain(settings: Vec<Setting>) -> Vec<Setting> {
    let plain = |Setting(name, value): Setting| match CompareSettings::field(&name) {
        Err(_) => Some(Setting(name, value)),
        Ok(field) if !field.info.value.is_empty() => Some(Setting(field.info.name.into(), value)),
        Ok(field) => match value.as_deref() {
            None | Some("true") => Some(Setting(field.info.name.into(), None)),
            Some("false") => None,
            Some(_) => Some(Setting(name, value)),
        },
    };
    settings.into_iter().filter_map(plain).collect()
}

/// A command line.
pub fn command(of: &str, settings: &[Setting]) -> String {
    let typed = settings
        .iter()
        .map(|Setting(name, value)| typed(name, value.as_deref().map(quoted).as_deref()));
    [format!("thermocline {of}")].into_iter().chain(typed).collect::<Vec<_>>().join(" ")
}

/// The comparison as a grid, one run for each policy. What only a comparison is asked is left out.
pub fn grid(settings: &[Setting]) -> String {
    let mut keys: Vec<(&str, Vec<String>)> = Vec::new();
    for Setting(name, value) in settings {
        let key = if name == "policies" { "policy" } else { name };
        let values = match (RunSpec::field(key), value) {
            _ if key == NOT_SWEPT => continue,
            (Ok(field), Some(value)) if LISTS.contains(&name.as_str()) => listed(field, value),
            (Ok(field), None) if !field.info.value.is_empty() => {
                field.info.alone.into_iter().map(str::to_owned).collect()
            }
            (Ok(_), value) => value.iter().cloned().collect(),
            (Err(_), Some(value)) if key == SEEDS => vec![value.clone()],
            (Err(_), _) => continue,
        };
        match keys.iter_mut().find(|(other, _)| *other == key) {
            Some((_, all)) => all.extend(values),
            None => keys.push((key, values)),
        }
    }
    let mut text = "# thermocline sweep grid.toml\n".to_owned();
    for (key, values) in keys {
        // In an array each value is taken as it is, with commas and dots.
        let values: Vec<_> = values.iter().map(|value| string(value)).collect();
        text += &match values.is_empty() {
            true => format!("{key} = true\n"),
            false => format!("{key} = [{}]\n", values.join(", ")),
        };
    }
    text
}

/// The values with commas between, each once; `all` is every one.
fn listed(field: &Field<RunSpec>, text: &str) -> Vec<String> {
    let every = || field.info.values.names().into_iter().map(|(name, _)| name.to_owned());
    let mut listed: Vec<String> = Vec::new();
    for name in split_list(text) {
        let names = if name == "all" { every().collect() } else { vec![name] };
        let new = names.into_iter().filter(|name| !listed.contains(name)).collect::<Vec<_>>();
        listed.extend(new);
    }
    listed
}

/// A string of TOML: JSON's are such, but for a character that is not printed.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
