//! The age transformation of the CAT paper (§3.2 and Figure 7) in integers: T(a) = 1 + log2(1 + a/τ).

/// T(age) in 256ths, within 1/256. `tau` is at least 1.
pub(super) fn transformed(age: u64, tau: u32) -> u32 {
    // (1 + a/τ) = sum / τ, so its logarithm is a difference.
    let sum = age + u64::from(tau);
    256 + log2(sum) - log2(u64::from(tau))
}

/// The binary logarithm of `x >= 1` in 256ths, within half of one: the exponent, and what a table says of the
/// mantissa's upper eight bits.
fn log2(x: u64) -> u32 {
    let exponent = 63 - x.leading_zeros();
    let mantissa = if exponent >= 8 { x >> (exponent - 8) } else { x << (8 - exponent) };
    exponent * 256 + u32::from(FRACTIONS[(mantissa & 0xff) as usize])
}

/// 256 · log2(1 + i/256), rounded; found by squaring: each doubling over 2 is a bit.
const FRACTIONS: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        // 1 + (i + 1/2)/256 in 2^-30: the middle of what falls there.
        let mut x: u64 = (1 << 30) + ((2 * i as u64 + 1) << 21);
        let (mut bits, mut n) = (0_u32, 0);
        while n < 9 {
            x = (x * x) >> 30;
            bits <<= 1;
            if x >= 2 << 30 {
                x >>= 1;
                bits |= 1;
            }
            n += 1;
        }
        let rounded = (bits + 1) >> 1;
        table[i] = if rounded > 255 { 255 } else { rounded as u8 };
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn it_is_the_transformation_within_a_128th() {
        for tau in [1, 7, 1700, 100_000] {
            for age in (0..200).map(|i| (1.2_f64.powi(i)) as u64 % (1 << 45)) {
                let exact = 1.0 + (1.0 + age as f64 / f64::from(tau)).log2();
                let ours = f64::from(transformed(age, tau)) / 256.0;
                assert!((ours - exact).abs() < 1.0 / 128.0, "{age} {tau}: {ours} {exact}");
            }
        }
    }
}
