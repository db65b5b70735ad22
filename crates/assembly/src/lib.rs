//! From words to a layer on a chip: the common part of the simulator, the server's commands and every
//! other interface to the translation core.
//!
//! * [`PolicySpec`] is a combination of policies by name, [`Device`] a chip by its figures.
//! * [`Room`] is the capacity of a device under a policy; [`LayerPlan`] derives the rest and builds
//!   the layer on any chip, with its type known to a [`LayerVisitor`].
//! * [`Store`] formats, mounts and salvages chips that hold data.
//! * [`chips`] finds and opens them by their names; [`format`](format()), [`check`](check()),
//!   [`repair`](repair()) and [`status`](status()) do the rest of a chip's life, and a [`Candidate`]
//!   becomes a layer that can be served, and mounted again by a [`Remounter`].
//! * [`copy`] copies a store's pages to another one.
//!
//! A store on a chip in memory:
//!
//! ```
//! # use thermocline_assembly::{Device, PolicySpec, Store, device::Overrides};
//! # use thermocline_flash::Lpn;
//! # use thermocline_ftl::{Format, Mount};
//! # use thermocline_media::Ram;
//! let small = Overrides { capacity: Some(16 << 20), ..Overrides::default() };
//! let device = Device::load("slc-generic")?.with(&small)?;
//! let store = Store::fit(device, 0.15, PolicySpec::parse("cat", None, None)?)?;
//! let profile = &store.device.profile;
//! let mut layer = store.format(Ram::new(profile.geometry, profile.rules), Format::default())?;
//! layer.write(Lpn(7), &[0x5a; 4096], 1)?;
//! layer.upkeep().unmount(2)?;
//! let (mut layer, recovery) = store.mount(layer.chip().clone(), Mount::Quick)?;
//! let mut page = [0; 4096];
//! assert!(recovery.clean && layer.read(Lpn(7), &mut page)? && page == [0x5a; 4096]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apart;
mod check;
pub mod chips;
pub mod copy;
pub mod demand_paged;
pub mod device;
mod error;
mod format;
#[cfg(target_os = "linux")]
mod lost_header;
pub mod names;
mod plan;
pub mod policy;
mod progress;
mod reading;
mod remount;
mod repair;
mod room;
mod serve;
mod status;
pub mod store;

pub use check::{CheckReport, Verdict, check, check_opened};
pub use chips::Access;
pub use device::Device;
pub use error::AssemblyError;
pub use format::{FormatOptions, Formatted, format};
pub use plan::{LayerPlan, LayerVisitor, Onlooking};
pub use policy::PolicySpec;
pub use progress::Progress;
pub use reading::PageAt;
pub use remount::Remounter;
pub use repair::{Repaired, repair};
pub use room::{Room, show_pages};
pub use serve::{Candidate, ServeOptions, Served};
pub use status::{BankStatus, Status, Wear, status};
pub use store::{AnyLayer, Store};
