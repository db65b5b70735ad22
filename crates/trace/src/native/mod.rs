//! The native trace format: a few bytes a request, checked, and readable while it is being written.
//!
//! All fixed integers are little-endian; `varint` is LEB128 with at most ten bytes; `zigzag` maps
//! signed differences to varints. All arithmetic on times and addresses is modulo 2^64.
//!
//! ```text
//! file    = "TCTRACE1" block*
//! block   = kind:u8 coding:u8 zero:u16 count:u32 raw_len:u32 stored_len:u32 crc:u32 payload
//!           crc     CRC-32 (IEEE) of the 16 bytes before it and of the payload as stored
//!           coding  0: payload as it is, raw_len = stored_len;  1: one Zstandard frame
//! ```
//! | kind | count | payload, uncompressed |
//! |---|---|---|
//! | `H` header, the first block | 0 | revision:varint (1), has_origin:u8 (0 or 1), origin:varint (Unix time of time 0, in ns), where it is known the device: length:varint, UTF-8 (the profile nearest to what it was recorded on). What follows is to be ignored |
//! | `V` volumes | names | each: length:varint, UTF-8. They continue the list of names; every volume is named before the block that uses it |
//! | `R` requests | requests | see below |
//! | `E` end, the last block | 0 | requests:varint in the whole file |
//!
//! A file without `E` was cut off. A block of requests can be decoded without those before it:
//!
//! ```text
//! base_time:varint time_unit:varint byte_unit:varint      units: common divisors within the block
//! times_len:varint places_len:varint lens_len:varint      in bytes; what remains are volumes
//! tags                                                    one byte a request
//! times    zigzag difference of (time - base_time)/time_unit; base_time is the earliest
//! places   zigzag (offset - place)/byte_unit              place: where the volume's last request ended
//! lens     varint len/byte_unit
//! volumes  varint index; behind it, or alone, the varint hint
//! ```
//! Tag: bits 0-1 the operation (0 read, 1 write, 2 trim, 3 flush); bit 2 the length is that of the
//! last request of this operation; bit 3 the offset is the place; bit 4 the volume is the last
//! one; bit 5 the hint is not the last one. A column has no entry for what the tag says. Bits 6-7
//! are 0. At the beginning of a block places, lengths, volume and hint are 0. A trace without hints
//! is the same as before there were any; readers of that time refuse one with hints. A flush with neither offset nor length has both bits 2 and 3
//! set, and changes neither place nor length.

mod block;
mod constants;
mod decode;
mod encode;
mod reader;
mod varint;
mod writer;

pub use constants::MAGIC;
pub use reader::NativeReader;
pub(crate) use reader::recorded_on;
pub use writer::NativeWriter;
