//! Pictures of results.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The pictures of `run`, `compare` and `sweep`.
#[derive(Args, Clone, Debug, Default)]
pub struct PictureArgs {
    /// Write a page as well: the answer, charts that show why, and how to repeat it, in one HTML file that opens
    /// offline in any browser.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Write the same charts as files for a paper: SVG and CSV of each (PDF and PNG if built in, see `make build`).
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub plots: Option<PathBuf>,
}

impl PictureArgs {
    /// Whether any are wanted.
    pub const fn any(&self) -> bool {
        self.report.is_some() || self.plots.is_some()
    }
}
