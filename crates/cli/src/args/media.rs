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
