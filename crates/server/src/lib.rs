//! The flash memory server: a block device over NBD, on a translation layer over a flash chip.
//!
//! * [`Server`]: serves devices until it is stopped.
//! * [`Device`]: one exported chip behind a lock, addressed in bytes.
//! * [`Pace`]: makes a chip as slow as the one it stands for.
//!
//! Each connection has one thread, which does everything for its requests: handing work to another
//! thread costs more than the work. It receives many requests with one system call, serves them
//! under one lock of the device, and answers with one system call.

mod access;
mod background;
mod budget;
mod connection;
pub mod control;
mod counters;
mod dashboard;
mod device;
mod error;
mod history;
mod http;
mod listener;
mod memory;
mod metrics;
mod pace;
mod record;
mod server;
mod stop;
mod stream;
#[cfg(feature = "tls")]
mod tls;
mod wear;

pub use access::{Access, Network, NetworkError};
pub use device::{
    About, AnyLayer, Change, Device, Fault, Held, Opening, Remount, Remounted, Settings,
};
pub use error::ServerError;
pub use listener::{Listener, Rights};
pub use pace::Pace;
pub use server::{Limits, Options, Server};
pub use stop::Stopper;
#[cfg(feature = "tls")]
pub use tls::{Clients, Tls};
