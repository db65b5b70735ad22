//! The colours of series.

use plotters::style::RGBColor;

/// Colours that colour-blind readers can distinguish: the first seven are Okabe and Ito's.
pub const COLOURS: [Colour; 12] = [
    Colour(0, 114, 178),
    Colour(213, 94, 0),
    Colour(0, 158, 115),
    Colour(204, 121, 167),
    Colour(230, 159, 0),
    Colour(86, 180, 233),
    Colour(90, 90, 90),
    Colour(138, 122, 0),
    Colour(106, 61, 154),
    Colour(127, 63, 0),
    Colour(0, 100, 100),
    Colour(178, 0, 79),
];

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// The grey of further series: more colours cannot be distinguished.
const REST: u8 = 150;

impl Colour {
    /// That of a series, by its number. Beyond the list all are grey, each a step of blue from the one before, by
    /// which a page knows which is which.
    pub(crate) fn of(number: usize) -> Self {
        match COLOURS.get(number) {
            Some(colour) => *colour,
            None => Self(REST, REST, REST + (number - COLOURS.len()).min(100) as u8),
        }
    }

    /// Whether it is the grey of further series.
    #[must_use]
    pub fn is_rest(self) -> bool {
        (self.0, self.1) == (REST, REST)
    }

    /// As SVG has it.
    #[must_use]
    pub fn hex(self) -> String {
        format!("#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

impl From<Colour> for RGBColor {
    fn from(Colour(red, green, blue): Colour) -> Self {
        Self(red, green, blue)
    }
}
