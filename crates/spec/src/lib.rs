//! The description of a simulation: a [`RunSpec`](run::RunSpec), made of settings by name.
//!
//! ```
//! use thermocline_spec::{run::RunSpec, table::Group};
//!
//! let given = [("workload", Some("hot-cold:90/10")), ("over-provisioning", Some("15%")), ("check", None)];
//! let spec = RunSpec::of(given)?;
//! assert_eq!(spec, serde_json::from_str(
//!     r#"{"workload": "hot-cold:90/10", "over-provisioning": 0.15, "check": true}"#
//! )?);
//! let error = RunSpec::of([("workload", Some("uniform")), ("queue-dept", Some("4"))]).unwrap_err();
//! assert_eq!((&*error.field, &*error.remedy), ("queue-dept", "did you mean ‹queue-depth›?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`table`] declares groups of settings: each is a struct with a table of names, help texts and
//!   parsers.
//! * [`run`], [`device`], [`cleaning`], [`input`], [`reading`], [`transform`] are the groups of a
//!   run.
//! * [`data`] handles a spec as data: serde, a JSON schema, equality and hashes.
//!
//! Invariants:
//! - This crate does not know the command line, Python or TOML. Each interface converts its input
//!   to [`table::Given`] settings, and shows errors in its own notation
//!   ([`thermocline_units::naming`]).
//! - Equal specs have equal canonical forms: `15%` and `0.15`, `SepBIT` and `sep-bit`,
//!   `cat(tau=84min)` and `cat(tau=5040s)` are one value each.

pub mod cleaning;
pub mod data;
pub mod device;
pub mod generate;
pub mod input;
pub mod kinds;
pub mod reading;
pub mod run;
pub mod table;
pub mod transform;
pub mod values;

pub use thermocline_units::naming::SpecError;
