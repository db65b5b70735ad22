//! The media that chips can be on, in the words of help texts.

use thermocline_media::{MEDIA, MediumEntry};

/// Whether a medium's chips outlive the program.
pub fn lasts(medium: &MediumEntry) -> bool {
    medium.open.is_some()
}

/// Chips on some of the media: ``an image file or `mtd:/dev/mtdN` (a raw NAND device)``.
pub fn listed(of: impl Fn(&MediumEntry) -> bool) -> String {
    let mut all: Vec<String> = MEDIA
        .iter()
        .filter(|medium| of(medium))
        .map(|medium| match medium.pattern {
            "FILE" => medium.summary.into(),
            pattern => format!("`{pattern}` ({})", medium.summary),
        })
        .collect();
    let last = all.pop().unwrap_or_default();
    if all.is_empty() { last } else { format!("{} or {last}", all.join(", ")) }
}

/// The names of chips that are made when they are served: `` `ram:` ``.
pub fn made_when_served() -> String {
    let all = MEDIA.iter().filter(|medium| !lasts(medium));
    all.map(|medium| format!("`{}`", medium.pattern)).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_medium_is_listed_and_has_a_row_in_the_guide() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/server-reference.md");
        let guide = std::fs::read_to_string(guide).expect("the reference of the server");
        for medium in MEDIA {
            assert!(listed(|_| true).contains(medium.summary), "{}", medium.scheme);
            let row = format!("\n| `{}` |", medium.example);
            assert!(
                guide.contains(&row),
                "docs/server-reference.md has no row for {}",
                medium.example
            );
        }
        assert!(made_when_served().starts_with("`ram:`"));
    }
}
