//! Means and deviations over seeds.

use serde::Serialize;

use crate::show;

/// A number measured with several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stat {
    /// Mean over the seeds.
    pub mean: f64,
    /// Standard deviation of one run over the seeds (n - 1); `None` for a single run.
    pub sd: Option<f64>,
}

impl Stat {
    /// From the values of all seeds, of which there is at least one.
    pub(crate) fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, sd: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()) }
    }
}

impl Stat {
    /// The mean, with the deviation if there is one.
    #[must_use]
    pub fn show(&self) -> String {
        match self.sd {
            Some(sd) if sd > 0.0 => {
                format!("{} ± {}", show::number(self.mean), show::deviation(sd))
            }
            _ => show::number(self.mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(Stat::of(&[2.0, 4.0, 6.0]), Stat { mean: 4.0, sd: Some(2.0) });
        assert_eq!(Stat::of(&[5.0]), Stat { mean: 5.0, sd: None });
    }
}
