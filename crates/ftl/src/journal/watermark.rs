//! The durability watermark: the number up to which every program survives a loss of power, carried in
//! the highest bits of the sequence number beside a page.
//!
//! Problem. After a crash a page whose payload cannot be read was either cut off, and the copy before it
//! counts, or it was flushed and has faded since, and an older copy must not pass for it. Idea. The
//! first page programmed after a sync carries the watermark: its distance from the page's own number,
//! in twelve bits. Consequence. A watermark costs no page, and the page that carries it proves it by
//! being there. A mount takes the greatest watermark of each epoch for known.

/// Bits of the number itself in a sequence number; the bits above are the watermark.
const NUMBER_BITS: u32 = 52;
/// Distances below two to the power of one more are exact, others rounded up to this power of steps a
/// doubling.
const STEPS_BITS: u32 = 7;

/// After a crash sequence numbers continue from the next multiple of this, so that no page that the
/// mount missed can be newer than the next write. The numbers between two multiples are an *epoch*.
pub(crate) const EPOCH: u64 = 1 << 32;

/// The number in the sequence number beside a page of data, without the watermark above it.
#[must_use]
pub const fn program_number(sequence: u64) -> u64 {
    sequence & ((1 << NUMBER_BITS) - 1)
}

/// A sequence number that carries the watermark `durable`, or one close below it.
pub(crate) fn with_watermark(number: u64, durable: u64) -> u64 {
    let distance = number.saturating_sub(durable).max(1);
    let steps = 1_u64 << STEPS_BITS;
    let code = if distance < 2 * steps {
        distance
    } else {
        let shift = (distance.ilog2() - STEPS_BITS) as u64;
        let mantissa = distance.div_ceil(1 << shift);
        // Rounded up to the next power of two, it is the first step of the next doubling.
        shift * steps + mantissa
    };
    if code >> (u64::BITS - NUMBER_BITS) != 0 { number } else { code << NUMBER_BITS | number }
}

/// The watermark that a page's sequence number carries, if any. It is never in an earlier epoch than
/// the number: one that seems to be was rounded too far.
pub(crate) fn watermark(sequence: u64) -> Option<u64> {
    let code = sequence >> NUMBER_BITS;
    let steps = 1_u64 << STEPS_BITS;
    let distance = match code {
        0 => return None,
        code if code < 2 * steps => code,
        code => (steps + code % steps) << (code / steps - 1),
    };
    let number = program_number(sequence);
    let durable = number.checked_sub(distance)?;
    (durable / EPOCH == number / EPOCH).then_some(durable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoded_watermark_is_never_above_the_true_one_and_close_below() {
        for number in [1_u64, 2, 300, 5000, 3 << 31, (1 << 45) + (1 << 30) + 12_345] {
            for durable in (0..70).map(|n| number.saturating_sub(n * n * n * 7 + n)) {
                let sequence = with_watermark(number, durable);
                assert_eq!(program_number(sequence), number);
                let decoded = watermark(sequence).unwrap_or(0);
                assert!(decoded <= durable.min(number - 1), "{number}, {durable}: {decoded}");
                let distance = (number - durable).max(1);
                assert!(
                    number - decoded <= distance + distance / 64,
                    "{number}, {durable}: {decoded}"
                );
                assert!(
                    distance > 255 || decoded == number - distance,
                    "{number}, {durable}: {decoded}"
                );
            }
        }
        assert_eq!(watermark(77), None, "most numbers carry none");
    }

    #[test]
    fn a_watermark_never_lies_in_an_earlier_epoch() {
        for epoch in [EPOCH, 5 * EPOCH] {
            for durable in (0..200).map(|n| epoch + n) {
                for number in (0..60).map(|n| durable + 1 + n * n * n) {
                    let decoded = watermark(with_watermark(number, durable));
                    assert!(
                        decoded.is_none_or(|decoded| (epoch..=durable).contains(&decoded)),
                        "{number}, {durable}: {decoded:?}"
                    );
                }
            }
        }
    }
}
