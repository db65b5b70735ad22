//! The arguments of `predict`.

use clap::Args;
use thermocline_study::settings::run::{OnePolicy, SimulationArgs};

use super::{settings::Of, values};

const HEADING: &str = "Warranty";

/// The arguments of `predict`.
#[derive(Args, Debug)]
pub struct PredictArgs {
    #[command(flatten)]
    pub one: Of<OnePolicy>,
    /// How far the drive's fit is off: what `thermocline identify` says of its last quarters.
    #[arg(long, value_name = "SHARE", value_parser = values::share, default_value = "5%")]
    pub fit_error: f64,
    /// Bytes that the vendor warrants to be written (TBW): 3500TB.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING)]
    pub warranty_bytes: Option<u64>,
    /// Drive writes a day that the vendor warrants (DWPD).
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub warranty_dwpd: Option<f64>,
    /// Years of the warranty.
    #[arg(long, value_name = "N", default_value_t = 5.0, help_heading = HEADING)]
    pub warranty_years: f64,
    #[command(flatten)]
    pub simulation: Of<SimulationArgs>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
