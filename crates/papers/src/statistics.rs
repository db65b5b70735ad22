//! Means and deviations over seeds.

use serde::Serialize;

use crate::show;

/// A number measured with several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stat {
    /// Mean over the seeds.
    pub mean: f64,
    /// One run's standard deviation over the seeds (n - 1); none of a single run.
    pub sd: Option<f64>,
}

impl Stat {
    /// Of the values of all seeds, of which there is one at least.
    pub(crate) fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, sd: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()) }
    }
}

impl Stat {
    /// The mean, with the deviation where there is one.
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
