//! Names that are not known, and those that were meant.

use crate::AssemblyError;

/// "there is no X; did you mean Y?"
#[must_use]
pub fn unknown<'a>(
    what: &str,
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
    remedy: &str,
) -> AssemblyError {
    let wrong = &shortened(wrong);
    AssemblyError::Usage(match nearest(wrong, known) {
        Some(near) => format!("there is no {what} `{wrong}`; did you mean `{near}`? ({remedy})"),
        None => format!("there is no {what} `{wrong}`; {remedy}"),
    })
}

/// Enough of a wrong name to recognise it by, on one line.
fn shortened(name: &str) -> String {
    const MOST: usize = 60;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Letters of a prefix that stand for a name.
const TELLING: usize = 3;

/// "did you mean": the known name nearest to a wrong one, if any is near. Case does not matter, and
/// the beginning of a name is as near as one wrong letter.
fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let distance = strsim::damerau_levenshtein(&wrong, &name);
        if wrong.len() >= TELLING && name.starts_with(&wrong) { distance.min(1) } else { distance }
    };
    known
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len().max(wrong.len()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
