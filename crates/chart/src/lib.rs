//! Charts: a [`Plot`] says what is in one, [`draw`] makes the SVG of it, [`Table`] has its numbers.
//!
//! Papers' figures and reports are drawn by the same code. Nothing here knows what the numbers mean.
//! A drawing says where its points are, and which cell of the table each is, so that a page can show the
//! number under the pointer.

mod axis;
mod colours;
mod plot;
pub mod show;
mod svg;
mod table;

pub use colours::{COLOURS, Colour};
pub use plot::{Column, Guide, Kind, Panel, Plot, Point, Series};
pub use svg::{Drawing, Ends, Frame, Hit, Key, Legend, draw};
pub use table::Table;

/// A chart: a plot with a name and words.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its name: that of its files.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub about: String,
    /// What is in it.
    pub plot: Plot,
}
