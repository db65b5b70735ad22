//! Who proposes candidates: tree-structured Parzen estimators, unless another optimizer is given.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_sim::SimError;
use tpe::{TpeOptimizer, density_estimation::DefaultEstimatorBuilder};

use super::space::{Candidate, Dimension, Space};

/// An optimizer: who proposes candidates.
pub trait Sampler {
    /// These of the policies go on.
    ///
    /// # Errors
    /// Why it cannot.
    fn begin(&mut self, space: &Space, kept: &[usize], seed: u64) -> Result<(), SimError>;

    /// A candidate, which may have been tried before.
    ///
    /// # Errors
    /// Why there is none.
    fn ask(&mut self) -> Result<Candidate, SimError>;

    /// Takes the score of a candidate, proposed or not: less is better; `None` if it could not run.
    ///
    /// # Errors
    /// Why it is unknown.
    fn tell(&mut self, candidate: &Candidate, score: Option<f64>) -> Result<(), SimError>;
}

/// Tree-structured Parzen estimators, the optimizer that is built in.
#[derive(Default)]
pub(super) struct Parzen(Option<(Estimators, Xoshiro256PlusPlus)>);

impl Sampler for Parzen {
    fn begin(&mut self, space: &Space, kept: &[usize], seed: u64) -> Result<(), SimError> {
        let estimators = Estimators::of(space, kept.to_vec());
        self.0 = Some((estimators, Xoshiro256PlusPlus::seed_from_u64(seed)));
        Ok(())
    }

    fn ask(&mut self) -> Result<Candidate, SimError> {
        let Some((estimators, random)) = &mut self.0 else { unreachable!("it began") };
        Ok(estimators.ask(random))
    }

    fn tell(&mut self, candidate: &Candidate, score: Option<f64>) -> Result<(), SimError> {
        if let Some((estimators, _)) = &mut self.0 {
            estimators.tell(candidate, score);
        }
        Ok(())
    }
}

/// An estimator of one dimension.
struct Estimator {
    optimizer: TpeOptimizer<DefaultEstimatorBuilder>,
    ordered: bool,
    values: usize,
}

impl Estimator {
    fn of(values: usize, ordered: bool) -> Self {
        let (estimator, range) = match ordered {
            true => (tpe::parzen_estimator(), tpe::range(0.0, values as f64)),
            false => (tpe::histogram_estimator(), tpe::categorical_range(values)),
        };
        let range = range.expect("a dimension has values");
        Self { optimizer: TpeOptimizer::new(estimator, range), ordered, values }
    }

    fn of_all(all: &[Dimension]) -> Vec<Self> {
        all.iter().map(|one| Self::of(one.values.len(), one.ordered)).collect()
    }

    fn ask(&mut self, random: &mut Xoshiro256PlusPlus) -> usize {
        // An estimator fails on NaN, and never gets one.
        let value = self.optimizer.ask(random).unwrap_or(0.0);
        (value as usize).min(self.values - 1)
    }

    fn tell(&mut self, value: usize, score: f64) {
        let value = value as f64 + if self.ordered { 0.5 } else { 0.0 };
        let _ = self.optimizer.tell(value, score);
    }
}

/// Estimators of all dimensions.
struct Estimators {
    /// The policies that continue, and the estimator of the choice among them.
    kept: Vec<usize>,
    policy: Estimator,
    common: Vec<Estimator>,
    parameters: Vec<Vec<Estimator>>,
}

impl Estimators {
    fn of(space: &Space, kept: Vec<usize>) -> Self {
        Self {
            policy: Estimator::of(kept.len(), false),
            common: Estimator::of_all(&space.common),
            parameters: kept
                .iter()
                .map(|policy| Estimator::of_all(&space.policies[*policy].parameters))
                .collect(),
            kept,
        }
    }

    fn ask(&mut self, random: &mut Xoshiro256PlusPlus) -> Candidate {
        let place = self.policy.ask(random);
        let ask = |all: &mut [Estimator], random: &mut Xoshiro256PlusPlus| -> Vec<usize> {
            all.iter_mut().map(|one| one.ask(random)).collect()
        };
        let common = ask(&mut self.common, random);
        let parameters = ask(&mut self.parameters[place], random);
        Candidate { policy: self.kept[place], common, parameters }
    }

    fn tell(&mut self, candidate: &Candidate, score: Option<f64>) {
        let Some(place) = self.kept.iter().position(|kept| *kept == candidate.policy) else {
            return;
        };
        // What cannot run is worse than anything that can.
        let score = score.unwrap_or(f64::MAX);
        self.policy.tell(place, score);
        let common = self.common.iter_mut().zip(&candidate.common);
        let parameters = self.parameters[place].iter_mut().zip(&candidate.parameters);
        common.chain(parameters).for_each(|(one, value)| one.tell(*value, score));
    }
}
