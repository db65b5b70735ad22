//! Chips that hold data. One binary: a link costs more than what it links here.

mod faults;
mod image;
mod power;
mod rules;
mod volatile_cache;
#[cfg(target_os = "linux")]
mod zones;
