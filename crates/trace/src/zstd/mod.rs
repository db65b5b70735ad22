//! zstd: its own library, or Rust alone where nothing compiles C (for a browser).

#[cfg(not(target_family = "wasm"))]
mod library;
#[cfg(any(target_family = "wasm", test))]
mod pure;

#[cfg(not(target_family = "wasm"))]
pub(crate) use library::{Compressor, Decompressor, decoder};
#[cfg(target_family = "wasm")]
pub(crate) use pure::{Compressor, Decompressor, decoder};
