//! The network of DOGI: six features, two hidden layers of 32, ten categories, and its training.
//!
//! Sums are in a fixed order, products are rounded before they are added, and functions are those
//! of `libm`, so weights are the same to the last bit on every machine.
//!
//! Training is that of the published trainer: weights and biases begin uniform within `1/√inputs`;
//! ReLU; dropout of 0.4 (to within 1/256) after each hidden layer; cross entropy; Adam with rate
//! 3·10⁻⁴, moments 0.9 and 0.999, and a weight decay of 10⁻⁵; batches of 128.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of features.
pub const FEATURES: usize = 6;
/// Number of categories of lifetimes.
pub const CATEGORIES: usize = 10;
/// Samples of a training step.
pub(super) const BATCH: usize = 128;
const HIDDEN: usize = 32;

const RATE: f64 = 3e-4;
const DECAY: f32 = 1e-5;
const MOMENTS: [f32; 2] = [0.9, 0.999];
const EPSILON: f32 = 1e-8;
/// A unit is kept if a random byte is below this: 0.6 of them.
const KEPT: u8 = 154;
const KEPT_SCALE: f32 = 256.0 / KEPT as f32;

/// Features of a page write.
pub type Features = [f32; FEATURES];

/// The weights of a layer by input and output, with its biases.
#[derive(Clone, Debug)]
struct Layer<const I: usize, const O: usize> {
    weights: [[f32; O]; I],
    biases: [f32; O],
}

impl<const I: usize, const O: usize> Layer<I, O> {
    const ZERO: Self = Self { weights: [[0.0; O]; I], biases: [0.0; O] };

    fn random(rng: &mut Xoshiro256PlusPlus) -> Self {
        let bound = 1.0 / libm::sqrtf(I as f32);
        let mut layer = Self::ZERO;
        layer.each(|value| {
            // 24 bits: every value is exact.
            let unit = (rng.random::<u32>() >> 8) as f32 / (1 << 24) as f32;
            *value = (2.0 * unit - 1.0) * bound;
        });
        layer
    }

    fn each(&mut self, mut change: impl FnMut(&mut f32)) {
        self.weights.as_flattened_mut().iter_mut().chain(&mut self.biases).for_each(&mut change);
    }

    /// Sums over inputs, all outputs at once: the order does not depend on the width of vectors.
    #[inline(always)]
    fn forward(&self, inputs: &[f32; I]) -> [f32; O] {
        let mut outputs = self.biases;
        for (input, row) in inputs.iter().zip(&self.weights) {
            for (output, weight) in outputs.iter_mut().zip(row) {
                *output += input * weight;
            }
        }
        outputs
    }

    /// Adds the gradient by weights and biases, given that by outputs.
    #[inline(always)]
    fn add_gradient(&mut self, inputs: &[f32; I], outputs: &[f32; O]) {
        for (input, row) in inputs.iter().zip(&mut self.weights) {
            for (weight, output) in row.iter_mut().zip(outputs) {
                *weight += input * output;
            }
        }
        for (bias, output) in self.biases.iter_mut().zip(outputs) {
            *bias += output;
        }
    }

    /// The gradient by inputs, given that by outputs.
    #[inline(always)]
    fn backward(&self, outputs: &[f32; O]) -> [f32; I] {
        let mut inputs = [0.0; I];
        for (input, row) in inputs.iter_mut().zip(&self.weights) {
            // Eight sums, so that they can be formed at once in a fixed order.
            let mut lanes = [0.0; 8];
            for (weights, outputs) in row.chunks(8).zip(outputs.chunks(8)) {
                for ((lane, weight), output) in lanes.iter_mut().zip(weights).zip(outputs) {
                    *lane += weight * output;
                }
            }
            *input = lanes.iter().sum();
        }
        inputs
    }

    /// One step of Adam with the gradient and its two moments, at the rate and with the second
    /// moment's correction for its start.
    fn step(
        &mut self,
        gradient: &Self,
        first: &mut Self,
        second: &mut Self,
        [rate, correction]: [f32; 2],
    ) {
        let Self { weights, biases } = self;
        let update = |values: &mut [f32], grown: &[f32], first: &mut [f32], second: &mut [f32]| {
            for (((value, grown), m), v) in values.iter_mut().zip(grown).zip(first).zip(second) {
                let slope = grown + DECAY * *value;
                *m = MOMENTS[0] * *m + (1.0 - MOMENTS[0]) * slope;
                *v = MOMENTS[1] * *v + (1.0 - MOMENTS[1]) * (slope * slope);
                *value -= rate * (*m / (libm::sqrtf(*v) * correction + EPSILON));
            }
        };
        update(
            weights.as_flattened_mut(),
            gradient.weights.as_flattened(),
            first.weights.as_flattened_mut(),
            second.weights.as_flattened_mut(),
        );
        update(biases, &gradient.biases, &mut first.biases, &mut second.biases);
    }
}

/// The three layers of weights.
#[derive(Clone, Debug)]
struct Layers {
    first: Layer<FEATURES, HIDDEN>,
    second: Layer<HIDDEN, HIDDEN>,
    third: Layer<HIDDEN, CATEGORIES>,
}

impl Layers {
    const ZERO: Self = Self { first: Layer::ZERO, second: Layer::ZERO, third: Layer::ZERO };
}

/// Features to zero mean and unit deviation.
#[derive(Clone, Copy, Debug)]
struct Scale {
    mean: Features,
    deviation: Features,
}

impl Scale {
    fn of<'a>(samples: impl Iterator<Item = &'a Features> + Clone) -> Self {
        let mut scale = Self { mean: [0.0; FEATURES], deviation: [1.0; FEATURES] };
        for i in 0..FEATURES {
            let values = || samples.clone().map(|sample| f64::from(sample[i]));
            let count = values().count().max(1) as f64;
            let mean = values().sum::<f64>() / count;
            let square = values().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
            scale.mean[i] = mean as f32;
            if square > 0.0 {
                scale.deviation[i] = libm::sqrt(square) as f32;
            }
        }
        scale
    }

    #[inline(always)]
    fn apply(&self, features: &Features) -> Features {
        core::array::from_fn(|i| (features[i] - self.mean[i]) / self.deviation[i])
    }
}

fn relu(values: &mut [f32]) {
    values.iter_mut().for_each(|value| *value = value.max(0.0));
}

/// The position of the largest value, the first among equals.
fn largest(values: &[f32; CATEGORIES]) -> u8 {
    let mut at = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[at] {
            at = i;
        }
    }
    at as u8
}

/// A network that foretells categories.
#[derive(Clone, Debug)]
pub struct Network {
    scale: Scale,
    layers: Layers,
}

impl Network {
    /// The values of the categories, of which the largest is foretold.
    #[inline(always)]
    fn values(&self, features: &Features) -> [f32; CATEGORIES] {
        let mut hidden = self.layers.first.forward(&self.scale.apply(features));
        relu(&mut hidden);
        let mut hidden = self.layers.second.forward(&hidden);
        relu(&mut hidden);
        self.layers.third.forward(&hidden)
    }

    /// The category of a page write, from 0.
    #[inline(always)]
    #[must_use]
    pub fn category(&self, features: &Features) -> u8 {
        largest(&self.values(features))
    }
}

/// A network in training.
#[derive(Clone, Debug)]
pub(super) struct Trainer {
    network: Network,
    gradient: Layers,
    moments: [Layers; 2],
    /// The powers of the moments' factors, which correct for their start at 0.
    powers: [f64; 2],
}

impl Trainer {
    pub(super) const fn new() -> Self {
        let scale = Scale { mean: [0.0; FEATURES], deviation: [1.0; FEATURES] };
        Self {
            network: Network { scale, layers: Layers::ZERO },
            gradient: Layers::ZERO,
            moments: [Layers::ZERO; 2],
            powers: [1.0; 2],
        }
    }

    pub(super) const fn network(&self) -> &Network {
        &self.network
    }

    /// Begins anew, with features scaled by those of the samples.
    pub(super) fn begin<'a>(
        &mut self,
        samples: impl Iterator<Item = &'a Features> + Clone,
        rng: &mut Xoshiro256PlusPlus,
    ) {
        self.network.scale = Scale::of(samples);
        self.network.layers = Layers {
            first: Layer::random(rng),
            second: Layer::random(rng),
            third: Layer::random(rng),
        };
        self.moments = [Layers::ZERO; 2];
        self.powers = [1.0; 2];
    }

    /// Trains on a batch of samples with their categories.
    pub(super) fn step<'a>(
        &mut self,
        batch: impl ExactSizeIterator<Item = (&'a Features, u8)>,
        rng: &mut Xoshiro256PlusPlus,
    ) {
        let share = 1.0 / batch.len().max(1) as f32;
        self.gradient = Layers::ZERO;
        for (features, category) in batch {
            self.add(features, category, share, rng);
        }
        for (power, factor) in self.powers.iter_mut().zip(MOMENTS) {
            *power *= f64::from(factor);
        }
        let rate = (RATE / (1.0 - self.powers[0])) as f32;
        let correction = (1.0 / libm::sqrt(1.0 - self.powers[1])) as f32;
        let (layers, gradient) = (&mut self.network.layers, &self.gradient);
        let [first, second] = &mut self.moments;
        let pace = [rate, correction];
        layers.first.step(&gradient.first, &mut first.first, &mut second.first, pace);
        layers.second.step(&gradient.second, &mut first.second, &mut second.second, pace);
        layers.third.step(&gradient.third, &mut first.third, &mut second.third, pace);
    }

    /// Adds a sample's part of the gradient.
    fn add(&mut self, features: &Features, category: u8, share: f32, rng: &mut Xoshiro256PlusPlus) {
        let Layers { first, second, third } = &self.network.layers;
        let inputs = self.network.scale.apply(features);
        let (hidden1, passed1) = dropped(first.forward(&inputs), rng);
        let (hidden2, passed2) = dropped(second.forward(&hidden1), rng);
        let slope = softmax_slope(third.forward(&hidden2), category, share);
        self.gradient.third.add_gradient(&hidden2, &slope);
        let slope = times(third.backward(&slope), &passed2);
        self.gradient.second.add_gradient(&hidden1, &slope);
        let slope = times(second.backward(&slope), &passed1);
        self.gradient.first.add_gradient(&inputs, &slope);
    }
}

/// A hidden layer after ReLU and dropout, and the factor that each unit had.
#[inline(always)]
fn dropped(
    mut values: [f32; HIDDEN],
    rng: &mut Xoshiro256PlusPlus,
) -> ([f32; HIDDEN], [f32; HIDDEN]) {
    let mut factors = [0.0; HIDDEN];
    for (values, factors) in values.chunks_mut(8).zip(factors.chunks_mut(8)) {
        let bytes = rng.random::<u64>().to_le_bytes();
        for ((value, factor), byte) in values.iter_mut().zip(factors).zip(bytes) {
            *factor = if *value > 0.0 && byte < KEPT { KEPT_SCALE } else { 0.0 };
            *value *= *factor;
        }
    }
    (values, factors)
}

#[inline(always)]
fn times(mut values: [f32; HIDDEN], factors: &[f32; HIDDEN]) -> [f32; HIDDEN] {
    values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
    values
}

/// The slope of the cross entropy by the values of the categories.
#[inline(always)]
fn softmax_slope(mut values: [f32; CATEGORIES], category: u8, share: f32) -> [f32; CATEGORIES] {
    let most = values[usize::from(largest(&values))];
    values.iter_mut().for_each(|value| *value = libm::expf(*value - most));
    let sum: f32 = values.iter().sum();
    values.iter_mut().for_each(|value| *value = *value / sum * share);
    values[usize::from(category)] -= share;
    values
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// One unit of each hidden layer passes a weighted sum on; another is negative and passes
    /// nothing.
    #[test]
    fn the_network_computes_what_it_does_by_hand() {
        let mut layers = Layers::ZERO;
        layers.first.weights[0][0] = 2.0;
        layers.first.weights[1][0] = -1.0;
        layers.first.biases[0] = 0.5;
        layers.first.weights[0][1] = -3.0;
        layers.second.weights[0][4] = 0.5;
        layers.second.weights[1][4] = 100.0;
        layers.second.biases[4] = -0.25;
        layers.third.weights[4] = core::array::from_fn(|o| o as f32 - 4.0);
        layers.third.biases[1] = 8.0;
        let scale = Scale {
            mean: [10.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            deviation: [2.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        };
        let network = Network { scale, layers };
        // Scaled: 1 and −1. First layer: 2 + 1 + 0.5 = 3.5, and −3, which passes nothing. Second:
        // 0.5 · 3.5 − 0.25 = 1.5. Third: 1.5 · (category − 4), and 8 more for category 1.
        let values = network.values(&[12.0, 0.0, 7.0, 0.0, 0.0, 0.0]);
        assert_eq!(values, [-6.0, 3.5, -3.0, -1.5, 0.0, 1.5, 3.0, 4.5, 6.0, 7.5]);
        assert_eq!(network.category(&[12.0, 0.0, 7.0, 0.0, 0.0, 0.0]), 9);
        // Scaled: −1 and 0, so that only the second unit passes, and 100 times as much: 299.75.
        assert_eq!(network.values(&[8.0, 1.0, 0.0, 0.0, 0.0, 0.0])[0], -4.0 * 299.75);
        assert_eq!(largest(&[0.0; CATEGORIES]), 0);
    }

    /// Adam's first step moves each weight by the rate, whatever the size of its slope.
    #[test]
    fn the_first_step_moves_weights_by_the_rate_against_the_slope() {
        let mut trainer = Trainer::new();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        trainer.begin([[0.0; FEATURES]].iter(), &mut rng);
        // Without hidden units only the biases of the last layer have a slope: 0.1 for each
        // category, −0.9 for the right one.
        trainer.network.layers = Layers::ZERO;
        trainer.step([(&[0.0; FEATURES], 3)].into_iter(), &mut rng);
        assert!((trainer.gradient.third.biases[3] + 0.9).abs() < 1e-6);
        assert!((trainer.gradient.third.biases[0] - 0.1).abs() < 1e-6);
        for (category, bias) in trainer.network.layers.third.biases.iter().enumerate() {
            let expected = if category == 3 { 3e-4 } else { -3e-4 };
            assert!((bias - expected).abs() < 1e-8, "{category}: {bias}");
        }
        assert_eq!(trainer.network.layers.first.weights, [[0.0; HIDDEN]; FEATURES]);
    }

    /// The slopes are those of the cross entropy, by differences.
    #[test]
    fn slopes_agree_with_differences() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut trainer = Trainer::new();
        let samples = [[1.0, -2.0, 0.5, 3.0, 0.0, 1.0], [-1.0, 2.0, 1.5, 1.0, 4.0, 0.0]];
        trainer.begin(samples.iter(), &mut rng);
        let loss = |network: &Network, units: &mut Xoshiro256PlusPlus| {
            let Layers { first, second, third } = &network.layers;
            let (hidden, _) = dropped(first.forward(&network.scale.apply(&samples[0])), units);
            let (hidden, _) = dropped(second.forward(&hidden), units);
            let values = third.forward(&hidden).map(f64::from);
            libm::log(values.iter().map(|value| libm::exp(*value)).sum()) - values[2]
        };
        trainer.gradient = Layers::ZERO;
        let units = rng.clone();
        trainer.add(&samples[0], 2, 1.0, &mut units.clone());
        for (input, output) in [(0, 0), (1, 5), (4, 31), (3, 17)] {
            let mut moved = trainer.network.clone();
            let at = |layers: &Layers| layers.second.weights[input][output];
            let ends = [1e-2, -1e-2].map(|by| {
                moved.layers.second.weights[input][output] = at(&trainer.network.layers) + by;
                loss(&moved, &mut units.clone())
            });
            let slope = (ends[0] - ends[1]) / 2e-2;
            let own = f64::from(at(&trainer.gradient));
            assert!((own - slope).abs() < 1e-3, "{input}, {output}: {own} for {slope}");
        }
    }

    #[test]
    fn training_tells_classes_apart_and_is_the_same_each_time() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let samples: std::vec::Vec<Features> = (0..2048)
            .map(|i| core::array::from_fn(|f| if f == 2 { (i % 2 * 90) as f32 } else { 1.0 }))
            .collect();
        let train = |rng: &mut Xoshiro256PlusPlus| {
            let mut trainer = Trainer::new();
            trainer.begin(samples.iter(), rng);
            for _ in 0..15 {
                for batch in samples.chunks(BATCH) {
                    trainer.step(
                        batch.iter().map(|sample| (sample, if sample[2] > 0.0 { 8 } else { 1 })),
                        rng,
                    );
                }
            }
            trainer
        };
        let trained = train(&mut rng.clone());
        assert_eq!(trained.network().category(&samples[0]), 1);
        assert_eq!(trained.network().category(&samples[1]), 8);
        let again = train(&mut rng);
        assert_eq!(
            trained.network().values(&samples[0]).map(f32::to_bits),
            again.network().values(&samples[0]).map(f32::to_bits),
        );
        // The same on every machine.
        let sum = |layers: &Layers| {
            layers
                .second
                .weights
                .as_flattened()
                .iter()
                .fold(0_u32, |sum, weight| sum.rotate_left(5) ^ weight.to_bits())
        };
        assert_eq!(sum(&trained.network().layers), 834_550_482);
    }
}
