//! Minimises a smooth function of one positive number with few evaluations.
//!
//! Three points around a guess are widened until the middle one is the lowest. Then the vertex of a
//! parabola through the lowest point and its neighbours is the next point. If that is not a new
//! point, the larger gap is divided by the golden section.

const GOLDEN: f64 = 0.381_966;
/// Factor by which a bracket that is open on one side is widened.
const WIDER: f64 = 1.6;

/// A search for a minimum that proposes points and receives their values.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// Evaluated points and their values, in order.
    known: Vec<(f64, f64)>,
    /// Points to evaluate first.
    first: Vec<f64>,
    within: (f64, f64),
    /// Distance below which points count as equal, as a share of 1 + x.
    close: f64,
    /// Evaluations left.
    left: usize,
}

impl Minimum {
    /// A search around a guess that begins with points at this factor on both sides.
    pub fn around(guess: f64, factor: f64, within: (f64, f64), close: f64, most: usize) -> Self {
        let clamp = |x: f64| x.clamp(within.0, within.1);
        let mut first = vec![clamp(guess * factor), clamp(guess / factor), clamp(guess)];
        first.dedup();
        Self { known: Vec::new(), first, within, close, left: most }
    }

    /// The next point to evaluate; `None` if the minimum is known precisely enough.
    pub fn next(&mut self) -> Option<f64> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        if let Some(x) = self.first.pop() {
            return Some(x);
        }
        let proposed = self.proposal()?;
        let scale = self.close * (1.0 + proposed);
        self.known.iter().all(|(x, _)| (x - proposed).abs() > scale).then_some(proposed)
    }

    fn proposal(&self) -> Option<f64> {
        let Some(at) = self.least_at() else {
            // If no point has room, larger ones have more.
            return self.known.last().map(|(x, _)| (x * WIDER).min(self.within.1));
        };
        let (x, y) = self.known[at];
        let neighbour = |at: Option<usize>| at.and_then(|at| self.known.get(at).copied());
        let (before, after) = (neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
        let (Some((a, fa)), Some((c, fc))) = (before, after) else {
            let wider = if before.is_none() { x / WIDER } else { x * WIDER };
            return Some(wider.clamp(self.within.0, self.within.1));
        };
        // Points that cannot run have no value for a parabola.
        let (left, right) = ((x - a) * (y - fc), (x - c) * (y - fa));
        let vertex = x - 0.5 * ((x - a) * left - (x - c) * right) / (left - right);
        let gap = self.close * (1.0 + x);
        let usable = vertex.is_finite() && vertex > a + gap && vertex < c - gap;
        if usable && (vertex - x).abs() > gap {
            return Some(vertex);
        }
        // The parabola agrees with the lowest point, so only a wide bracket needs another
        // evaluation.
        if usable && c - a < 8.0 * gap {
            return None;
        }
        let (near, far) = (c - x > x - a, GOLDEN);
        Some(if near { x + far * (c - x) } else { x - far * (x - a) })
    }

    /// Records the value of a point; infinite if it has none.
    pub fn tell(&mut self, x: f64, value: f64) {
        let at = self.known.partition_point(|(known, _)| *known < x);
        self.known.insert(at, (x, value));
    }

    fn least_at(&self) -> Option<usize> {
        let finite = self.known.iter().enumerate().filter(|(_, (_, value))| value.is_finite());
        finite.min_by(|(_, a), (_, b)| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    /// The range around the minimum in which the value exceeds it by at most `more`, by the
    /// parabola through the lowest point and its neighbours.
    pub fn as_good(&self, more: f64) -> Option<(f64, f64)> {
        let at = self.least_at()?;
        let (x, y) = self.known[at];
        let finite = |at: Option<usize>| {
            at.and_then(|at| self.known.get(at).copied()).filter(|(_, value)| value.is_finite())
        };
        let side = |at: Option<usize>| {
            let (other, value) = finite(at)?;
            // A parabola with its vertex at the lowest point.
            let bend = (value.powi(2) - y.powi(2)) / (other - x).powi(2);
            (bend > 0.0).then(|| (((y + more).powi(2) - y.powi(2)) / bend).sqrt())
        };
        let (low, high) = (side(at.checked_sub(1)), side(Some(at + 1)));
        let width = low.into_iter().chain(high).reduce(f64::max)?;
        Some(((x - width).max(self.within.0), (x + width).min(self.within.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(of: impl Fn(f64) -> f64, guess: f64) -> (f64, usize) {
        let mut minimum = Minimum::around(guess, 0.8, (0.02, 3.0), 0.002, 12);
        let mut evaluations = 0;
        while let Some(x) = minimum.next() {
            minimum.tell(x, of(x));
            evaluations += 1;
        }
        (minimum.known[minimum.least_at().expect("some")].0, evaluations)
    }

    #[test]
    fn minima_are_found_in_few_evaluations_from_far_away() {
        for (least, guess) in [(0.19, 0.15), (0.45, 0.18), (0.07, 0.28), (1.2, 0.5)] {
            // Shaped like the distance of curves: a kink that noise rounds.
            let of = |x: f64| ((x.ln() - f64::ln(least)).powi(2) + 1e-4).sqrt();
            let (x, evaluations) = found(of, guess);
            assert!((x - least).abs() < 0.01 * (1.0 + least), "{least} from {guess}: {x}");
            assert!(evaluations <= 12, "{evaluations}");
        }
    }

    #[test]
    fn what_cannot_run_is_left() {
        let of = |x: f64| if x < 0.1 { f64::INFINITY } else { (x - 0.12).abs() };
        let (x, _) = found(of, 0.06);
        assert!((x - 0.12).abs() < 0.02, "{x}");
    }

    #[test]
    fn what_is_as_good_lies_around_the_least() {
        let mut minimum = Minimum::around(0.2, 0.8, (0.02, 3.0), 0.002, 8);
        while let Some(x) = minimum.next() {
            minimum.tell(x, (0.02_f64.powi(2) + (x - 0.2).powi(2)).sqrt());
        }
        let (low, high) = minimum.as_good(0.005).expect("three points");
        // √(0.025² − 0.02²) = 0.015.
        assert!((low - 0.185).abs() < 1e-6 && (high - 0.215).abs() < 1e-6, "{low} {high}");
    }
}
