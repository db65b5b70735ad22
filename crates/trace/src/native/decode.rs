//! Decodes columns into requests.

use super::{
    encode::{AT_PLACE, Context, OTHER_HINT, SAME_LEN, SAME_VOLUME},
    varint::{take, take_signed},
};
use crate::{Op, Request};

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// Decodes a block of `count` requests into `out`; `None` if it is invalid.
pub(super) fn decode(
    mut payload: &[u8],
    count: usize,
    context: &mut Context,
    out: &mut Vec<Request>,
) -> Option<()> {
    let bytes = &mut payload;
    let (base, time_unit, byte_unit) = (take(bytes)?, take(bytes)?, take(bytes)?);
    let lengths = [take(bytes)?, take(bytes)?, take(bytes)?];
    let tags = split(bytes, count)?;
    let mut times = split(bytes, usize::try_from(lengths[0]).ok()?)?;
    let mut places = split(bytes, usize::try_from(lengths[1]).ok()?)?;
    let mut lens = split(bytes, usize::try_from(lengths[2]).ok()?)?;
    let mut volumes = *bytes;
    context.clear();
    out.clear();
    out.reserve(count);
    let mut now = 0u64;
    // The place of the last volume, which is mostly also the next one.
    let (mut of, mut place) = (context.volume, 0u64);
    for &tag in tags {
        now = now.wrapping_add(take_signed(&mut times)?);
        let time_ns = base.wrapping_add(now.wrapping_mul(time_unit));
        let op = OPS[usize::from(tag & 3)];
        if tag & SAME_VOLUME == 0 {
            context.volume = u32::try_from(take(&mut volumes)?).ok()?;
        }
        let volume = context.volume;
        if tag & OTHER_HINT != 0 {
            context.hint = u16::try_from(take(&mut volumes)?).ok()?;
        }
        let hint = context.hint;
        if tag >> 6 != 0 {
            return None;
        }
        if op == Op::Flush && tag & (SAME_LEN | AT_PLACE) == SAME_LEN | AT_PLACE {
            out.push(Request { time_ns, offset: 0, len: 0, volume, op, hint });
            continue;
        }
        let last_len = &mut context.lens[op as usize];
        if tag & SAME_LEN == 0 {
            *last_len = take(&mut lens)?;
        }
        let len = *last_len;
        if volume != of {
            context.places.insert(of, place);
            (of, place) = (volume, context.places.get(&volume).copied().unwrap_or_default());
        }
        let offset = match tag & AT_PLACE {
            0 => place.wrapping_add(take_signed(&mut places)?),
            _ => place,
        };
        place = offset.wrapping_add(len);
        out.push(Request {
            time_ns,
            offset: offset.wrapping_mul(byte_unit),
            len: len.wrapping_mul(byte_unit),
            volume,
            op,
            hint,
        });
    }
    (times.is_empty() && places.is_empty() && lens.is_empty() && volumes.is_empty()).then_some(())
}

fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(length)?;
    *bytes = tail;
    Some(head)
}
