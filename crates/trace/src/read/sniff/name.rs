//! The name of a table's column, split into words.

/// The words of a column's name: `IOSize(bytes)` is io, size, bytes. The name itself begins at word
/// `own`, because tools with one table for all events prefix names with the event and a point.
pub(super) struct Name {
    pub(super) words: Vec<String>,
    own: usize,
}

impl Name {
    pub(super) fn of(text: &str) -> Self {
        let is_letter = |c: char| c.is_alphanumeric() || c == char::REPLACEMENT_CHARACTER;
        let mut own = 0;
        let mut words: Vec<String> = Vec::new();
        let mut before = ' ';
        let characters: Vec<char> = text.chars().collect();
        for (at, &c) in characters.iter().enumerate() {
            let next_is_small = characters.get(at + 1).is_some_and(|next| next.is_lowercase());
            let begins = c.is_uppercase()
                && (before.is_lowercase() || before.is_uppercase() && next_is_small);
            // Bytes that are not UTF-8 are unknown letters: `µs` in another encoding is not `s`.
            if is_letter(c) {
                match words.last_mut() {
                    Some(word) if is_letter(before) && !begins => word.extend(c.to_lowercase()),
                    _ => words.push(c.to_lowercase().collect()),
                }
            }
            if c == '.' {
                own = words.len();
            }
            before = c;
        }
        Self { words, own }
    }

    /// Whether it is a known name, with or without one of these units after it.
    pub(super) fn is(&self, known: &str, units: &[(&'static str, &str)]) -> bool {
        [0, self.own].into_iter().any(|from| {
            let whole = self.words[from..].concat();
            let without = self.unit_at_end(units).and_then(|word| whole.strip_suffix(word));
            whole == known || without == Some(known)
        })
    }

    /// Whether it may be a time that no name above is, and no duration.
    pub(super) fn may_be_time(&self) -> bool {
        const TIMES: &[&str] = &["time", "timestamp", "ts", "datetime", "date", "elapsed", "clock"];
        const DURATIONS: &[&str] = &[
            "response", "resp", "service", "latency", "wait", "queue", "taken", "duration",
            "delta", "seek",
        ];
        let has = |words: &[&str]| {
            self.words[self.own..].iter().any(|word| words.contains(&word.as_str()))
        };
        has(TIMES) && !has(DURATIONS)
    }

    /// The unit formed by its last words. Capitals split `KiB` in two.
    fn unit_at_end(&self, units: &[(&'static str, &str)]) -> Option<&'static str> {
        let ends = |words: usize| {
            let begins = self.words.len().checked_sub(words).filter(|begins| *begins > 0)?;
            let last = self.words[begins..].concat();
            units.iter().find(|(unit, _)| *unit == last).map(|(unit, _)| *unit)
        };
        ends(2).or_else(|| ends(1))
    }

    /// The unit in the name.
    pub(super) fn unit(&self, units: &[(&'static str, &'static str)]) -> Option<&'static str> {
        let told =
            |word: &str| units.iter().find(|(known, _)| *known == word).map(|(_, unit)| *unit);
        self.unit_at_end(units)
            .and_then(told)
            .or_else(|| self.words.iter().rev().find_map(|word| told(word)))
    }
}
