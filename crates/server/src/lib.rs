//! The flash memory server: a block device over NBD, on a translation layer over a flash chip.
//!
//! * [`Server`]: devices in, requests served until it is told to stop.
//! * [`Device`]: one exported chip behind a lock, addressed in bytes.
//! * [`Pace`]: makes a chip as slow as the one it stands for.
//!
//! A connection has a thread of its own, and everything a request needs is done on it: handing
//! work to another thread costs more than the work. Many requests are taken from the socket with
//! one system call, served with the device in hand once, and answered with one system call.

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
