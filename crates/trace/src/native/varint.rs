//! LEB128 and zigzag.

pub(super) fn push(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed difference; small ones of either sign take few bytes.
pub(super) fn push_signed(out: &mut Vec<u8>, value: u64) {
    push(out, value << 1 ^ ((value as i64 >> 63) as u64));
}

/// Takes a varint from the front of `bytes`; `None` if it is cut off or exceeds 64 bits.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, mut rest) = bytes.split_first()?;
    let mut value = u64::from(first & 0x7f);
    let mut last = first;
    let mut shift = 7;
    while last >= 0x80 {
        let (&next, after) = rest.split_first()?;
        if shift == 63 && next > 1 {
            return None;
        }
        value |= u64::from(next & 0x7f) << shift;
        (last, rest, shift) = (next, after, shift + 7);
    }
    *bytes = rest;
    Some(value)
}

#[inline]
pub(super) fn take_signed(bytes: &mut &[u8]) -> Option<u64> {
    let value = take(bytes)?;
    Some(value >> 1 ^ (value & 1).wrapping_neg())
}
