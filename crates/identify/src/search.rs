//! The search.

use std::{collections::BTreeMap, mem};

use thermocline_sim::{Fill, History, Job, Progress, SimError, compare_each};

use crate::{
    Fit, Identified, MeasuredRun, Model, Next, Ranked, RunFit, RunInput, Settings, cache,
    curve::Curve, minimum::Minimum, model::Drives, next,
};

/// Over-provisioning values of the initial grid.
const GRID: [f64; 8] = [0.04, 0.07, 0.11, 0.18, 0.28, 0.45, 0.75, 1.2];
/// Minimum and maximum over-provisioning.
const WITHIN: (f64, f64) = (0.015, 4.0);
/// Differences of over-provisioning below which values count as equal, as a share of the flash.
const CLOSE: f64 = 0.002;
/// Initial numbers of superblocks.
const NUMBERS: [u32; 6] = [64, 128, 256, 512, 1024, 2048];
/// Number of families whose superblocks are searched, and number of those that are narrowed.
const KEPT: usize = 6;
const NARROWED: usize = 3;
/// Families with a larger distance, relative to the best one, are not searched further.
const FAR: f64 = 2.5;
const LEAST_FAR: f64 = 0.02;
/// Factors between numbers of superblocks around the best one.
const STEPS: [f64; 2] = [std::f64::consts::SQRT_2, 1.189_207];
/// Minimum number of superblocks.
const LEAST: u32 = 16;
/// Number of families refined at a finer scale, and by how many times the pages.
const REFINED: usize = 4;
const FINER: u32 = 4;
/// Maximum number of evaluations for a family and for a number of superblocks.
const OF_FAMILY: usize = 8;
const OF_NUMBER: usize = 6;
/// Maximum overhead of a drive.
const MOST_OVERHEAD: f64 = 0.25;
/// A fit is as good as the best if its distance exceeds the best by at most this share of it, or by
/// this amount.
const AS_GOOD: f64 = 0.25;
const LEAST_AS_GOOD: f64 = 0.004;

/// By how much a distance may exceed the best for a fit to be as good.
fn more(fit: &Fit) -> f64 {
    (AS_GOOD * fit.distance).max(LEAST_AS_GOOD)
}

/// Name of an initial state.
const fn named(state: Fill) -> &'static str {
    match state {
        Fill::Nothing => "fresh",
        Fill::Shuffled => "shuffled",
        Fill::Logical | Fill::Share(_) => "sequential",
    }
}

/// The result of a simulation.
pub struct Simulated {
    /// The curve, without an overhead.
    pub curve: Curve,
}

/// Simulates one run on one model.
///
/// # Errors
/// Why it cannot run.
pub fn simulate(job: Job<'_>, page_bytes: f64, progress: &Progress) -> Result<Simulated, SimError> {
    let job = Job { history: true, ..job };
    let outcomes = compare_each(&[job], false, 1, progress)?;
    let Some(outcome) = outcomes.into_iter().next() else { unreachable!("one job") };
    outcome.result?;
    let history: History = outcome.history.expect("it was asked for");
    Ok(Simulated { curve: Curve::simulated(&history, page_bytes) })
}

/// Searches for the model that explains the runs.
///
/// # Errors
/// [`SimError::Interrupted`] if it is stopped before there is a result; [`SimError::Input`] if no
/// model can run.
pub fn identify(
    runs: &[MeasuredRun],
    settings: &Settings,
    progress: &Progress,
) -> Result<Identified, SimError> {
    let mut search = Search {
        runs,
        settings,
        drives: settings.drives(),
        progress,
        best: BTreeMap::new(),
        searched: BTreeMap::new(),
        coarse: BTreeMap::new(),
        simulations: 0,
    };
    let stopped = match search.all() {
        Ok(()) => false,
        Err(SimError::Interrupted) if !search.best.is_empty() => true,
        Err(error) => return Err(error),
    };
    search.finish(stopped)
}

/// The index of a family, and a number of superblocks.
type Key = (usize, u32);

struct Search<'a> {
    runs: &'a [MeasuredRun],
    settings: &'a Settings,
    drives: Drives,
    progress: &'a Progress,
    best: BTreeMap<Key, Fit>,
    searched: BTreeMap<Key, Minimum>,
    /// Distances before refinement at a finer scale; only equal scales are compared.
    coarse: BTreeMap<Key, f64>,
    simulations: usize,
}

impl Search<'_> {
    fn all(&mut self) -> Result<(), SimError> {
        let most = self.drives.most_superblocks();
        let numbers: Vec<_> = NUMBERS.into_iter().filter(|n| *n <= most).collect();
        let numbers = if numbers.is_empty() { vec![most.max(LEAST)] } else { numbers };
        let (first, guess) = self.place_with_cache(&numbers)?;
        // A family whose number of superblocks is off by more than one step looks worse than it is,
        // and would be excluded.
        let near = |n: &&u32| (first / 2..=first * 2).contains(*n);
        let keys = (0..self.settings.families.len()).flat_map(|family| {
            numbers.iter().filter(near).map(move |n| ((family, *n), guess, 0.85))
        });
        self.narrow(keys.collect(), OF_FAMILY)?;
        let kept = self.worth(KEPT);
        let of_all = kept.iter().flat_map(|(family, fit)| {
            let others = numbers.iter().filter(|n| !near(n));
            others.map(|n| ((*family, *n), fit.model.over_provisioning, 0.93)).collect::<Vec<_>>()
        });
        self.narrow(of_all.collect(), OF_NUMBER)?;
        for step in STEPS {
            let kept = self.worth(NARROWED);
            let between = kept.iter().flat_map(|(family, fit)| {
                let (n, op) = (f64::from(fit.model.superblocks), fit.model.over_provisioning);
                let numbers = [(n / step).round() as u32, (n * step).round() as u32];
                let usable = numbers.into_iter().filter(|n| (LEAST..=most).contains(n));
                usable.map(|n| ((*family, n), op, 0.96)).collect::<Vec<_>>()
            });
            self.narrow(between.collect(), OF_NUMBER)?;
        }
        self.coarse = self.best.iter().map(|(key, fit)| (*key, fit.distance)).collect();
        self.refine()
    }

    /// The number of superblocks and the over-provisioning where one family fits best. Uniform
    /// traffic determines the over-provisioning for any family, and traffic that dies in order
    /// determines the number of superblocks.
    fn place(&mut self, numbers: &[u32]) -> Result<(u32, f64), SimError> {
        let family = (0..self.settings.families.len())
            .find(|at| self.settings.families[*at].name == "greedy, survivors apart")
            .unwrap_or(0);
        let places = numbers.iter().flat_map(|n| GRID.map(|op| (*n, op)));
        let models: Vec<_> = places.map(|(n, op)| self.model((family, n), op)).collect();
        let fits = self.evaluate(&models)?;
        for (model, fit) in models.iter().zip(&fits) {
            self.keep((family, model.superblocks), fit.as_ref());
        }
        let least = fits.iter().flatten().min_by(|a, b| a.distance.total_cmp(&b.distance));
        let found = least.map(|fit| (fit.model.superblocks, fit.model.over_provisioning));
        Ok(found.unwrap_or((numbers[numbers.len() / 2], 0.28)))
    }

    /// Refines the remaining models at a finer scale, if the traffic can be generated for it. If
    /// stopped, the earlier result is kept.
    fn refine(&mut self) -> Result<(), SimError> {
        let workloads = self.runs.iter().all(|run| matches!(run.input, RunInput::Workload(_)));
        if !workloads || self.drives.scale == 1 {
            return Ok(());
        }
        let families = self.families();
        let worse = families.first().map_or(0.0, |(_, fit)| fit.distance + more(fit));
        let left = families.into_iter().filter(|(_, fit)| fit.distance <= worse).take(REFINED);
        let left = left.map(|(family, fit)| {
            ((family, fit.model.superblocks), fit.model.over_provisioning, 0.96)
        });
        let left: Vec<_> = left.collect();
        let coarse = (mem::take(&mut self.best), mem::take(&mut self.searched), self.drives.scale);
        self.drives.scale = coarse.2.div_ceil(FINER);
        let done = self.narrow(left, OF_NUMBER);
        let fine = (mem::take(&mut self.best), mem::take(&mut self.searched));
        (self.best, self.searched) = (coarse.0, coarse.1);
        if done.is_err() {
            self.drives.scale = coarse.2;
            return done;
        }
        self.best.extend(fine.0);
        self.searched.extend(fine.1);
        Ok(())
    }

    /// At most this many families: those that a better number of superblocks may bring to the top.
    fn worth(&self, most: usize) -> Vec<(usize, Fit)> {
        let all = self.families();
        let best = all.first().map_or(0.0, |(_, fit)| fit.distance);
        let within = |(_, fit): &(usize, Fit)| fit.distance <= best * FAR + LEAST_FAR;
        all.into_iter().filter(within).take(most).collect()
    }

    fn model(&self, (family, superblocks): Key, over_provisioning: f64) -> Model {
        let family = self.settings.families[family].clone();
        Model { family, over_provisioning, superblocks }
    }

    /// Finds the over-provisioning of several models in parallel, each by its own search.
    fn narrow(&mut self, all: Vec<(Key, f64, f64)>, most: usize) -> Result<(), SimError> {
        let mut open: Vec<(Key, Minimum)> = all
            .into_iter()
            .map(|(key, guess, factor)| (key, Minimum::around(guess, factor, WITHIN, CLOSE, most)))
            .collect();
        while !open.is_empty() {
            let asked: Vec<_> = open.iter_mut().map(|(_, minimum)| minimum.next()).collect();
            let mut going: Vec<_> = Vec::new();
            for ((key, minimum), asked) in open.into_iter().zip(asked) {
                match asked {
                    Some(op) => going.push((key, minimum, op)),
                    None => {
                        self.searched.insert(key, minimum);
                    }
                }
            }
            let models: Vec<_> = going.iter().map(|(key, _, op)| self.model(*key, *op)).collect();
            let fits = self.evaluate(&models)?;
            for ((key, minimum, op), fit) in going.iter_mut().zip(&fits) {
                minimum.tell(*op, fit.as_ref().map_or(f64::INFINITY, |fit| fit.distance));
                self.keep(*key, fit.as_ref());
                self.searched.insert(*key, minimum.clone());
            }
            open = going.into_iter().map(|(key, minimum, _)| (key, minimum)).collect();
        }
        Ok(())
    }

    fn keep(&mut self, key: Key, fit: Option<&Fit>) {
        let Some(fit) = fit else { return };
        if self.best.get(&key).is_none_or(|best| fit.distance < best.distance) {
            self.best.insert(key, fit.clone());
        }
    }

    /// The best fit of each family, the best family first.
    fn families(&self) -> Vec<(usize, Fit)> {
        let mut best: BTreeMap<usize, &Fit> = BTreeMap::new();
        for ((family, _), fit) in &self.best {
            let other = best.entry(*family).or_insert(fit);
            if fit.distance < other.distance {
                *other = fit;
            }
        }
        let mut all: Vec<_> = best.into_iter().map(|(family, fit)| (family, fit.clone())).collect();
        all.sort_by(|a, b| a.1.distance.total_cmp(&b.1.distance));
        all
    }

    /// Evaluates models; `None` for a model that cannot run.
    fn evaluate(&mut self, models: &[Model]) -> Result<Vec<Option<Fit>>, SimError> {
        // One job for every model, run and state. Models that cannot be simulated are left out.
        let mut jobs = Vec::new();
        let mut places = Vec::new();
        for (at, model) in models.iter().enumerate() {
            for (number, run) in self.runs.iter().enumerate() {
                for state in run.states() {
                    if let Some(job) = self.drives.job(model, run, state) {
                        jobs.push(job);
                        places.push((at, number, state));
                    }
                }
            }
        }
        let outcomes = compare_each(&jobs, false, self.settings.threads, self.progress)?;
        self.simulations += jobs.len();
        let mut curves: Vec<Vec<Vec<(Fill, Curve)>>> =
            vec![vec![Vec::new(); self.runs.len()]; models.len()];
        for ((at, number, state), outcome) in places.into_iter().zip(outcomes) {
            if let (Ok(_), Some(history)) = (&outcome.result, &outcome.history) {
                let curve = Curve::simulated(history, self.drives.page_bytes());
                curves[at][number].push((state, curve));
            }
        }
        let fits = models.iter().zip(curves).map(|(model, curves)| self.fit(model, curves));
        Ok(fits.collect())
    }

    fn fit(&self, model: &Model, curves: Vec<Vec<(Fill, Curve)>>) -> Option<Fit> {
        if curves.iter().any(Vec::is_empty) {
            return None;
        }
        let overhead = self.settings.overhead.or_else(|| self.overhead(&curves));
        let runs = self.runs.iter().zip(curves).map(|(run, curves)| {
            let fits = curves.into_iter().map(|(state, curve)| RunFit {
                distance: curve.distance(&run.curve, overhead.unwrap_or(0.0)),
                state: run.state.is_none().then(|| named(state)),
                curve,
            });
            fits.min_by(|a, b| a.distance.mean().total_cmp(&b.distance.mean()))
        });
        let runs: Vec<RunFit> = runs.collect::<Option<_>>()?;
        let squares: f64 = runs.iter().map(|run| run.distance.mean().powi(2)).sum();
        let distance = (squares / runs.len() as f64).sqrt();
        Some(Fit { model: model.clone(), overhead, runs, distance })
    }

    /// The overhead: what was programmed beside the pages where nothing was copied.
    fn overhead(&self, curves: &[Vec<(Fill, Curve)>]) -> Option<f64> {
        let of_run = |number: usize| curves[number].iter().map(|(_, curve)| curve).collect();
        let least = if self.drives.base.slc_cache.is_some() { 2.0 } else { 1.0 };
        let times = cache::beside(self.runs, of_run, least)?;
        Some((times - 1.0).clamp(0.0, MOST_OVERHEAD))
    }

    /// Gives all models an SLC cache if no model without one explains what the drive programs, and places them again.
    fn place_with_cache(&mut self, numbers: &[u32]) -> Result<(u32, f64), SimError> {
        let placed = self.place(numbers)?;
        let Some((_, best)) = self.families().into_iter().next() else { return Ok(placed) };
        let of_run = |number: usize| vec![&best.runs[number].curve];
        if self.drives.base.slc_cache.is_some()
            || !cache::writes_twice(cache::beside(self.runs, of_run, 1.0))
        {
            return Ok(placed);
        }
        self.drives.base.slc_cache = Some(cache::ASSUMED);
        self.best.clear();
        self.place(numbers)
    }

    fn finish(mut self, stopped: bool) -> Result<Identified, SimError> {
        let families = self.families();
        let Some((_, best)) = families.first().cloned() else {
            return Err(SimError::Input(format!(
                "no model with {} exported bytes can run under these workloads; are sizes those of the whole \
                 drive?",
                self.settings.exported_bytes
            )));
        };
        let worse = best.distance + more(&best);
        let ranked = |(family, fit): &(usize, Fit)| {
            let key = (*family, fit.model.superblocks);
            let own = more(fit);
            let least = self.coarse.get(&key).copied().unwrap_or(fit.distance);
            let near = least + (AS_GOOD * least).max(LEAST_AS_GOOD);
            let numbers = self
                .coarse
                .iter()
                .filter(|((other, _), distance)| other == family && **distance <= near);
            Ranked {
                over_provisioning: self.searched.get(&key).and_then(|m| m.as_good(own)),
                superblocks: numbers.map(|((_, n), _)| *n).collect(),
                as_good: fit.distance <= worse,
                fit: fit.clone(),
            }
        };
        let ranking: Vec<_> = families.iter().map(ranked).collect();
        let tells = (0..self.runs.len()).map(|number| {
            let ends = ranking.iter().map(|one| one.fit.runs[number].distance.last_quarter);
            let (least, most) = ends.fold((f64::MAX, f64::MIN), |(l, m), e| (l.min(e), m.max(e)));
            most - least
        });
        let tells = tells.collect();
        let (mut of_scale, mut next, mut stopped) = (None, Vec::new(), stopped);
        if !stopped {
            match self.after(&ranking) {
                Ok((scale, found)) => (of_scale, next) = (scale, found),
                Err(SimError::Interrupted) => stopped = true,
                Err(error) => return Err(error),
            }
        }
        let (simulations, scale) = (self.simulations, self.drives.scale);
        let slc_cache = self.drives.base.slc_cache;
        Ok(Identified { ranking, simulations, scale, of_scale, tells, next, slc_cache, stopped })
    }

    /// The error due to the scale, and what to measure next.
    fn after(&mut self, ranking: &[Ranked]) -> Result<(Option<f64>, Vec<Next>), SimError> {
        let best = &ranking[0].fit;
        let workloads = self.runs.iter().all(|run| matches!(run.input, RunInput::Workload(_)));
        let mut of_scale = None;
        if workloads && self.drives.scale > 1 {
            let whole = self.drives.clone();
            self.drives.scale = whole.scale.div_ceil(2);
            let larger = self.evaluate(std::slice::from_ref(&best.model));
            self.drives = whole;
            if let Some(larger) = larger?.into_iter().flatten().next() {
                let changes = larger.runs.iter().zip(&best.runs);
                let changes = changes
                    .map(|(a, b)| (a.curve.last_quarter() / b.curve.last_quarter() - 1.0).abs());
                of_scale = changes.reduce(f64::max);
            }
        }
        if !self.settings.next {
            return Ok((of_scale, Vec::new()));
        }
        let (found, simulations) =
            next::measurements(ranking, &self.drives, self.settings.threads, self.progress)?;
        self.simulations += simulations;
        Ok((of_scale, found))
    }
}
