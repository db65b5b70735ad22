//! Suggestions for a rejected command line: the option with a similar name, or with another name in other tools.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// Names of options in other tools, and their names here; the first that a command has is shown.
const ELSEWHERE: [(&[&str], &[&str]); 5] = [
    (
        &["port", "host", "addr", "address", "bind", "listen"],
        &["--tcp 127.0.0.1:10809", "--listen PORT"],
    ),
    (&["socket", "sock"], &["--unix SOCK"]),
    (&["file", "input", "in", "traces"], &["--trace FILE"]),
    (&["op", "spare", "overprovisioning"], &["--over-provisioning 7%"]),
    (&["size", "disk-size"], &["--capacity SIZE"]),
];

/// The error without a suggestion that is too different, and with known help.
pub fn taught(command: &Command, words: &[String], mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let Some(written) = text(ContextKind::InvalidArg) else { return error };
    let name = written.trim_start_matches('-').split('=').next().unwrap_or_default().to_owned();
    if let Some(suggested) = text(ContextKind::SuggestedArg)
        && !is_near(&name, suggested.trim_start_matches('-').split(' ').next().unwrap_or_default())
    {
        error.remove(ContextKind::SuggestedArg);
    }
    let asked = words.iter().find_map(|word| command.find_subcommand(word)).unwrap_or(command);
    let has = |option: &&str| {
        let long = option.trim_start_matches('-').split(' ').next();
        asked.get_arguments().any(|arg| arg.get_long() == long)
    };
    let known = if written.starts_with('-') {
        let row = ELSEWHERE.iter().find(|(names, _)| names.contains(&name.as_str()));
        row.and_then(|(_, options)| options.iter().find(|option| has(option)).copied())
    } else {
        Some("--trace FILE").filter(has)
    };
    if let Some(option) = known {
        error.remove(ContextKind::SuggestedArg);
        let tip = format!("write `{option}`").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Whether one may be written for the other: few letters differ, or one begins the other.
fn is_near(one: &str, other: &str) -> bool {
    let most = (one.len().max(other.len()) / 3).max(1);
    other.starts_with(one) || one.starts_with(other) || distance(one, other) <= most
}

/// The edit distance in letters.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (place, same) in other.iter().enumerate() {
            let changed = before + usize::from(*same != letter);
            before = row[place + 1];
            row[place + 1] = changed.min(before + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_told_from_far_ones() {
        for (one, other) in [
            ("polic", "policy"),
            ("over-provisionin", "over-provisioning"),
            ("trace-fromat", "trace-format"),
        ] {
            assert!(is_near(one, other), "{one} {other}");
        }
        for (one, other) in [("port", "separate"), ("size", "seed"), ("op", "ops-x")] {
            assert!(!is_near(one, other) || other.starts_with(one), "{one} {other}");
        }
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
    }
}
