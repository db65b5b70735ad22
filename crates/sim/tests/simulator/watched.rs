//! An observer does not change a run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use thermocline_assembly::device::Overrides;
use thermocline_flash::BlockId;
use thermocline_ftl::{BlockState, BlockUse, PageState};
use thermocline_policy::{
    BlockView,
    victim::{Onlooker, Victim},
};
use thermocline_sim::{Device, Input, Job, Look, Watch, Workload};

use crate::common::{done, job, policy};

/// Counts victims, and compares each with the candidates by the policy's own cost.
#[derive(Debug, Default)]
struct Chosen {
    cleaned: AtomicU64,
    with_cost: AtomicU64,
    /// Whether the victim has the lowest cost only within a window.
    windowed: AtomicBool,
}

impl Onlooker for Chosen {
    fn chose(&self, victim: &dyn Victim, blocks: &BlockView, chosen: BlockId, now: u64) {
        let Some(cost) = victim.cost(blocks, chosen, now) else { return };
        let all = (0..blocks.len()).filter_map(|n| victim.cost(blocks, blocks.nth(n), now));
        let is_least = all.fold(f64::INFINITY, f64::min) >= cost;
        assert!(is_least || self.windowed.load(Relaxed), "{chosen:?} costs {cost}");
        self.with_cost.fetch_add(1, Relaxed);
    }

    fn answered(&self, cleaned: bool) {
        self.cleaned.fetch_add(u64::from(cleaned), Relaxed);
    }
}

#[derive(Debug, Default)]
struct Looker {
    chosen: Arc<Chosen>,
    looks: AtomicU64,
    cleaned: AtomicU64,
}

impl Watch for Looker {
    fn stride(&self, _pages: u64) -> usize {
        7
    }

    fn look(&self, now: &Look<'_>) {
        self.cleaned.store(now.counters.victims, Relaxed);
        if !self.looks.fetch_add(1, Relaxed).is_multiple_of(64) {
            return;
        }
        // Block states and page states agree.
        let mut blocks = vec![BlockState::default(); now.geometry.blocks() as usize];
        now.inspect.block_states(BlockId(0), &mut blocks);
        for (block, state) in (0..).map(BlockId).zip(&blocks) {
            assert_eq!(state.valid, now.inspect.valid_pages(block));
            let pages = now.inspect.page_states(block);
            let valid = pages.iter().filter(|page| matches!(page, PageState::Valid(_))).count();
            assert!(pages.is_empty() || valid == state.valid as usize, "{block:?}: {state:?}");
            assert!(state.used != BlockUse::Free || pages.iter().all(|p| *p == PageState::Free));
        }
    }

    fn onlooker(&self) -> Option<Arc<dyn Onlooker>> {
        Some(self.chosen.clone())
    }
}

#[test]
fn results_are_the_same_and_every_victim_costs_least_by_its_policy() {
    let small = Overrides { capacity: Some(16 << 20), ..Overrides::default() };
    let device = Device::load("slc-generic").expect("built in").with(&small).expect("a device");
    let workload = Workload {
        spec: "hot-cold:90/10".parse().expect("a workload"),
        bytes: Some(24 << 20),
        request_bytes: Some(12 << 10),
        interarrival_ns: None,
        read_share: 0.2,
    };
    for (name, has_cost) in [
        ("greedy", Some(true)),
        ("cost-benefit", Some(true)),
        ("lfs", Some(true)),
        ("cat", Some(true)),
        ("dac", Some(true)),
        ("fifo", Some(true)),
        ("sfs", Some(true)),
        ("sep-bit", Some(true)),
        ("windowed-greedy", Some(true)),
        // By its own queues, and otherwise by cost.
        ("midas", None),
        ("nftl", Some(false)),
        ("in-place", Some(false)),
    ] {
        let alone = job(device.clone(), policy(name), Input::Workload(&workload));
        let looker = Looker::default();
        looker.chosen.windowed.store(name == "windowed-greedy", Relaxed);
        let watched = Job { watch: Some(&looker), ..alone.clone() };
        let [alone, watched] = [&alone, &watched].map(|job| {
            let mut json = done(job).stable_json();
            // The memory includes that of the observer.
            json.as_object_mut().expect("a result is an object").remove("memory");
            json
        });
        assert_eq!(alone, watched, "{name}");
        assert!(looker.looks.load(Relaxed) > 100, "{name}");
        let [cleaned, with_cost] = [&looker.chosen.cleaned, &looker.chosen.with_cost];
        let has_cost = has_cost.unwrap_or(with_cost.load(Relaxed) > 0);
        assert_eq!(has_cost, with_cost.load(Relaxed) > 0, "{name}");
        if has_cost && name != "midas" {
            assert_eq!(cleaned.load(Relaxed), looker.cleaned.load(Relaxed), "{name}");
        }
    }
}
