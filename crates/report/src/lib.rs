//! Output for people: the answer in words, figures in their units, charts, and a page with all of
//! these.
//!
//! A [`Page`](page::Page) is one HTML file that loads nothing. Its charts are drawn when it is made, and each has
//! its table; an inline script adds interaction. Every text goes through one template crate, which escapes it,
//! and through [`show::plain`](thermocline_chart::show::plain), which spells out control characters and direction
//! marks.

pub mod answer;
pub mod charts;
mod colours;
pub mod compared;
pub mod comparison;
pub mod figure;
pub mod fleet;
pub mod names;
pub mod number;
pub mod page;
pub mod sweep;
