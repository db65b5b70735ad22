//! What a page asked for, for whoever goes on without it: a command line, and a grid file.

use serde::Deserialize;
use thermocline_sweep::{quoted, typed};
use thermocline_units::split_list;

/// A setting by its name; no value for a flag.
#[derive(Clone, Debug, Deserialize)]
pub struct Setting(pub String, pub Option<String>);

/// A command line.
pub fn command(of: &str, settings: &[Setting]) -> String {
    let typed = settings
        .iter()
        .map(|Setting(name, value)| typed(name, value.as_deref().map(quoted).as_deref()));
    [format!("thermocline {of}")].into_iter().chain(typed).collect::<Vec<_>>().join(" ")
}

/// The comparison as a grid, one run for each policy.
pub fn grid(settings: &[Setting]) -> String {
    let mut text = "# thermocline sweep grid.toml\n".to_owned();
    for Setting(name, value) in settings {
        match (name.as_str(), value) {
            // A sweep measures no distances unless it is told to.
            ("no-oracle", _) => {}
            ("policies", Some(value)) => {
                let names: Vec<_> = split_list(value).iter().map(|name| string(name)).collect();
                text += &format!("policy = [{}]\n", names.join(", "));
            }
            // What stands in a list is taken as it is.
            ("trace" | "workload", Some(value)) => {
                text += &format!("{name} = [{}]\n", string(value))
            }
            (_, Some(value)) => text += &format!("{name} = {}\n", string(value)),
            (_, None) => text += &format!("{name} = true\n"),
        }
    }
    text
}

/// A string of TOML: JSON's are such, but for a character that is not printed.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
