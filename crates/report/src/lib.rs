//! What people read: the answer in words, figures in their units, charts, and a page with all of it.
//!
//! A [`Page`](page::Page) is one HTML file that loads nothing. Its charts are drawn when it is made, and each has
//! its table; a script of ours adds what needs one. Every text goes through one template crate, which escapes
//! it, and through [`show::plain`](thermocline_chart::show::plain), which spells out what steers a terminal or
//! the direction of writing.

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
