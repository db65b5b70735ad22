//! Flash chips that hold data.
//!
//! * [`Ram`]: a chip in memory, with payload and out-of-band areas.
//! * [`image::Image`]: a chip in a file, which survives a loss of power at any time.
//! * `Mtd`: raw NAND of a Linux system, behind its character device.
//! * [`zoned::Zoned`]: a zoned block device of a Linux system, or a file that emulates one.
//! * [`Faulty`]: faults around any chip. Power fails at a given operation, in any of the ways in
//!   which that can end, and whatever was cut off shows itself afterwards: it is never taken for
//!   blank, nor for data. Programs and erases fail, blocks wear out, bits turn.
//!
//! [`Medium`] is what a server wants of a chip beside. [`MEDIA`] lists the media by name, and a
//! [`Place`] is a chip on one of them, as users name it.
//!
//! All enforce the rules of the medium as [`CountingChip`](thermocline_flash::CountingChip) does.

mod faults;
#[cfg(unix)]
pub mod image;
mod lent;
mod medium;
#[cfg(target_os = "linux")]
mod mtd;
mod ram;
#[cfg(unix)]
mod record;
mod registry;
#[cfg(target_os = "linux")]
pub mod sparse;
#[cfg(target_os = "linux")]
pub mod zoned;

pub use faults::{Cut, Faults, FaultsError, Faulty};
pub use lent::{Lender, Lent};
pub use medium::{Durable, Health, Medium, Syncing};
#[cfg(target_os = "linux")]
pub use mtd::{Mtd, MtdError, MtdOptions};
pub use ram::Ram;
pub use registry::{
    Create, Description, MEDIA, MediumEntry, MediumError, NewChip, Open, OpenChip, OpenedChip,
    Place, Replace,
};
