//! A sweep as a TOML file: each key is an option of `thermocline run`.
//!
//! A string is read as on the command line, lists and ranges included. An array is a list of values as
//! they stand. `true` is a flag. The order of axes is that of the file.

use thermocline_sim::SimError;
use toml::de::{DeTable, DeValue};

/// Options of a file in its order, with their values: texts as on the command line, or single
/// values.
///
/// # Errors
/// [`SimError::Input`], with the line.
pub fn read_file(name: &str, text: &str) -> Result<Vec<(String, Vec<String>, bool)>, SimError> {
    let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let wrong = |at: usize, what: String| SimError::Input(format!("{name}:{}: {what}", line(at)));
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(at, error.message().to_owned())
    })?;
    let mut keys: Vec<_> = table.get_ref().iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    let mut options = Vec::new();
    for (key, value) in keys {
        let option = key.get_ref().to_string();
        let refuse = |what: &str| {
            wrong(
                key.span().start,
                format!(
                    "`{option}` cannot be {what}; write a string, a number, an array of these, or true"
                ),
            )
        };
        let (values, listed) = match value.get_ref() {
            DeValue::Boolean(false) => continue,
            DeValue::Boolean(true) => (Vec::new(), false),
            DeValue::Array(values) => {
                let texts = values.iter().map(|value| scalar(value.get_ref()));
                let texts: Option<Vec<_>> = texts.collect();
                match texts {
                    Some(texts) if !texts.is_empty() => (texts, true),
                    Some(_) => return Err(refuse("an empty array")),
                    None => return Err(refuse("an array of anything but strings and numbers")),
                }
            }
            value => match scalar(value) {
                Some(text) => (vec![text], false),
                None => return Err(refuse("a table or a date")),
            },
        };
        options.push((option, values, listed));
    }
    Ok(options)
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_the_order_of_the_file() {
        let text = "trace = ['b.tct', 'a.tct']\npolicy = 'greedy,cat'\nbanks = [1, 2]\nabsolute = true\nwrap = false\n";
        let all = read_file("sweep.toml", text).expect("a sweep");
        let named: Vec<_> = all
            .iter()
            .map(|(option, values, listed)| (option.as_str(), values.join("|"), *listed))
            .collect();
        let expected = [
            ("trace", "b.tct|a.tct".to_owned(), true),
            ("policy", "greedy,cat".to_owned(), false),
            ("banks", "1|2".to_owned(), true),
            ("absolute", String::new(), false),
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line) in
            [("a = 1\nb =\n", ":2:"), ("a = 1\n\n[b]\nc = 1\n", ":3:"), ("a = []", ":1:")]
        {
            let error = read_file("s.toml", text).expect_err(text).to_string();
            assert!(error.contains(line), "{error}");
        }
    }
}
