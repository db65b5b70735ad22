//! The states of blocks as bytes, little endian.
//!
//! Whole: 8 bytes a block, in order: valid pages (16 bits), use (8), stream (8), erases (32). What changed:
//! 12 bytes a block, its number (32 bits) before the same.

use base64::{Engine, engine::general_purpose::STANDARD};
use thermocline_ftl::{BlockState, BlockUse};

/// Bytes of a block.
pub const WHOLE: usize = 8;
/// Bytes of a block with its number.
pub const CHANGED: usize = 4 + WHOLE;

fn put(state: &BlockState, into: &mut Vec<u8>) {
    let valid = u16::try_from(state.valid).unwrap_or(u16::MAX);
    into.extend_from_slice(&valid.to_le_bytes());
    into.extend_from_slice(&[state.used as u8, state.stream]);
    into.extend_from_slice(&state.erases.to_le_bytes());
}

/// All blocks.
#[must_use]
pub fn whole(blocks: &[BlockState]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(blocks.len() * WHOLE);
    blocks.iter().for_each(|state| put(state, &mut bytes));
    bytes
}

/// Appends the blocks that differ, and makes them equal. Returns how many.
pub fn changed(before: &mut [BlockState], now: &[BlockState], into: &mut Vec<u8>) -> usize {
    let mut count = 0;
    for (number, (before, now)) in (0_u32..).zip(before.iter_mut().zip(now)) {
        if before != now {
            *before = *now;
            into.extend_from_slice(&number.to_le_bytes());
            put(now, into);
            count += 1;
        }
    }
    count
}

/// The blocks of a [`whole`] frame; `None` if these bytes are none.
#[must_use]
pub fn read_whole(bytes: &[u8]) -> Option<Vec<BlockState>> {
    let (blocks, []) = bytes.as_chunks::<WHOLE>() else { return None };
    let state = |&[v0, v1, used, stream, e0, e1, e2, e3]: &[u8; WHOLE]| {
        Some(BlockState {
            used: match used {
                0 => BlockUse::Free,
                1 => BlockUse::Open,
                2 => BlockUse::Full,
                3 => BlockUse::Condemned,
                4 => BlockUse::Bad,
                5 => BlockUse::Records,
                _ => return None,
            },
            stream,
            valid: u16::from_le_bytes([v0, v1]).into(),
            erases: u32::from_le_bytes([e0, e1, e2, e3]),
        })
    };
    blocks.iter().map(state).collect()
}

/// Bytes as text.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of such a text.
#[must_use]
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_turns_the_old_frame_into_the_new_one() {
        let block = |valid, used, erases| BlockState { used, stream: 3, valid, erases };
        let mut before = vec![block(7, BlockUse::Full, 1), block(0, BlockUse::Free, 70_000)];
        let now = vec![before[0], block(2, BlockUse::Open, 70_000)];
        let mut delta = Vec::new();
        assert_eq!(changed(&mut before, &now, &mut delta), 1);
        assert_eq!((&before, delta.len(), delta[0]), (&now, CHANGED, 1));
        assert_eq!(read_whole(&whole(&now)), Some(now));
        assert_eq!(read_whole(&[0, 0, 9, 0, 0, 0, 0, 0]), None, "no such use");
        assert_eq!(bytes(&text(&delta)), Some(delta));
    }
}
