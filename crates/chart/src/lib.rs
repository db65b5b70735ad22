//! Charts: a [`Plot`] describes one, [`draw`] makes its SVG, [`Table`] has its numbers.
//!
//! The same code draws papers' figures and reports, and knows nothing of the meaning of the numbers. A
//! drawing has the position and the table cell of each point, so that a page can show the number under
//! the pointer.

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
    /// Its title.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub about: String,
    /// Its plot.
    pub plot: Plot,
}
