//! Means over several seeds with their confidence intervals, and the spread of erase counts.

use serde::Serialize;

/// A mean with its 95 % confidence interval: the true mean lies within `half` of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half-width of the interval; zero for a single value.
    pub half: f64,
}

/// Student's t at 97.5 % for one degree of freedom, two, and so on.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The same for very many degrees of freedom.
const NORMAL: f64 = 1.96;

impl Interval {
    /// The interval of these values; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let half = match values.len() {
            0 => return None,
            1 => 0.0,
            count => {
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                let t = STUDENT.get(count - 2).copied().unwrap_or(NORMAL);
                t * (squares / (n - 1.0) / n).sqrt()
            }
        };
        Some(Self { mean, half })
    }
}

/// Mean of erase counts.
pub(crate) fn mean(erases: &[u32]) -> f64 {
    erases.iter().map(|&e| f64::from(e)).sum::<f64>() / erases.len() as f64
}

/// Sample standard deviation of erase counts.
pub(crate) fn deviation(erases: &[u32]) -> f64 {
    let mean = mean(erases);
    let squares: f64 = erases.iter().map(|&e| (f64::from(e) - mean).powi(2)).sum();
    if erases.len() > 1 { (squares / (erases.len() as f64 - 1.0)).sqrt() } else { 0.0 }
}

/// The lowest value that this share of all does not exceed.
pub(crate) fn percentile(erases: &[u32], share: f64) -> u32 {
    let mut sorted = erases.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_students() {
        let of = |values: &[f64]| Interval::of(values).expect("values");
        assert_eq!(of(&[3.0]), Interval { mean: 3.0, half: 0.0 });
        let five = of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(
            (five.mean - 3.0).abs() < 1e-12 && (five.half - 2.776 * 0.5_f64.sqrt()).abs() < 1e-9
        );
        assert_eq!(Interval::of(&[]), None);
    }

    #[test]
    fn wear_is_the_sample_deviation() {
        let erases = [2, 4, 4, 4, 5, 5, 7, 9];
        assert!((deviation(&erases) - 2.138_089_935).abs() < 1e-9);
        assert_eq!(
            (mean(&erases), percentile(&erases, 0.99), percentile(&erases, 0.5)),
            (5.0, 9, 4)
        );
        assert_eq!((deviation(&[3]), percentile(&[], 0.99)), (0.0, 0));
    }
}
