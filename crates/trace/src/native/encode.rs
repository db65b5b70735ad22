//! Encodes a block of requests as columns.

use super::varint::{push, push_signed};
use crate::{Op, Request};
use rustc_hash::FxHashMap;

pub(super) const SAME_LEN: u8 = 1 << 2;
pub(super) const AT_PLACE: u8 = 1 << 3;
pub(super) const SAME_VOLUME: u8 = 1 << 4;
pub(super) const OTHER_HINT: u8 = 1 << 5;

/// The state relative to which a request is encoded, in units. The decoder keeps the same state.
#[derive(Default)]
pub(super) struct Context {
    pub lens: [u64; 4],
    pub places: FxHashMap<u32, u64>,
    pub volume: u32,
    pub hint: u16,
}

impl Context {
    pub fn clear(&mut self) {
        self.lens = [0; 4];
        self.places.clear();
        self.volume = 0;
        self.hint = 0;
    }
}

/// Buffers reused for every block.
#[derive(Default)]
pub(super) struct Encoder {
    context: Context,
    tags: Vec<u8>,
    times: Vec<u8>,
    places: Vec<u8>,
    lens: Vec<u8>,
    volumes: Vec<u8>,
}

impl Encoder {
    pub fn encode(&mut self, requests: &[Request], out: &mut Vec<u8>) {
        let Self { context, tags, times, places, lens, volumes } = self;
        for column in [&mut *tags, times, places, lens, volumes] {
            column.clear();
        }
        context.clear();
        let base = requests.iter().map(|request| request.time_ns).min().unwrap_or(0);
        let (time_unit, byte_unit) = units(requests, base);
        let mut now = 0;
        for request in requests {
            let time = (request.time_ns - base) / time_unit;
            push_signed(times, time.wrapping_sub(now));
            now = time;
            let mut tag = request.op as u8;
            if request.volume == context.volume {
                tag |= SAME_VOLUME;
            } else {
                push(volumes, request.volume.into());
                context.volume = request.volume;
            }
            if request.hint != context.hint {
                tag |= OTHER_HINT;
                push(volumes, request.hint.into());
                context.hint = request.hint;
            }
            if request.op == Op::Flush && request.offset == 0 && request.len == 0 {
                tags.push(tag | SAME_LEN | AT_PLACE);
                continue;
            }
            let (offset, len) = (request.offset / byte_unit, request.len / byte_unit);
            let last_len = &mut context.lens[request.op as usize];
            if len == *last_len && request.op != Op::Flush {
                tag |= SAME_LEN;
            } else {
                push(lens, len);
                *last_len = len;
            }
            let place = context.places.entry(request.volume).or_default();
            if offset == *place && request.op != Op::Flush {
                tag |= AT_PLACE;
            } else {
                push_signed(places, offset.wrapping_sub(*place));
            }
            *place = offset.wrapping_add(len);
            tags.push(tag);
        }
        out.clear();
        for value in [base, time_unit, byte_unit] {
            push(out, value);
        }
        for column in [&*times, places, lens] {
            push(out, column.len() as u64);
        }
        for column in [&*tags, times, places, lens, volumes] {
            out.extend_from_slice(column);
        }
    }
}

/// The largest units that divide all time differences, and all offsets and lengths, of a block.
///
/// Most traces have times in microseconds or coarser, and addresses in sectors. Without units the
/// trailing zeros would be two thirds of the file.
fn units(requests: &[Request], base: u64) -> (u64, u64) {
    let (mut time, mut byte) = (0, 0);
    for request in requests {
        time = common(time, request.time_ns - base);
        byte = common(common(byte, request.offset), request.len);
    }
    (time.max(1), byte.max(1))
}

/// Greatest common divisor, fast where `unit` already divides `value`.
fn common(mut unit: u64, mut value: u64) -> u64 {
    if unit == 1 {
        return 1;
    }
    while unit != 0 {
        (value, unit) = (unit, value % unit);
    }
    value
}
