//! The number of streams that suits a device.

use crate::{Context, placement::contest::spare_blocks};

/// Number of streams that fit beside the reserve and read-only data; at least two.
fn possible_streams(device: &Context) -> u8 {
    spare_blocks(device).saturating_sub(device.reserve + 1).clamp(2, 16) as u8
}

/// A suitable number of streams. Twice the streams halve the spread of lifetimes in each and keep
/// twice the blocks open, so the best number grows with the square root of the blocks that can be
/// open.
pub(super) fn suitable_streams(device: &Context) -> u8 {
    let spare = spare_blocks(device);
    let open = spare - spare / 3;
    let root = (4 * open.min(256)).isqrt().div_ceil(2);
    let suitable = root.clamp(4, 16).min((spare / 2).max(2)) as u8;
    suitable.min(possible_streams(device))
}

/// Number of streams with which all rules of a duel are possible.
pub(super) fn most_streams(device: &Context) -> u8 {
    let twice = (2 * suitable_streams(device)).min(16);
    let most = twice.min((spare_blocks(device) / 4).min(16) as u8).min(possible_streams(device));
    most.max(suitable_streams(device))
}
