//! Lists in human notation.

/// Splits a list of calls at the commas outside parentheses.
#[must_use]
pub fn split_list(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_split_outside_brackets() {
        assert_eq!(split_list("a, b(x=1, y=2) ,c"), ["a", "b(x=1, y=2)", "c"]);
    }
}
