//! Which policy is the answer: the rules, on constructed results.

use thermocline_assembly::device::Overrides;
use thermocline_sim::{
    Device, Input, Job, PolicySpec, Progress, RunResult, Workload,
    answer::{Aim, Answer, Buildable, Candidate, LeftOut, Reason, Wish, answer, are_tied},
    result::Memory,
    run,
};

/// A run whose copies are modified.
fn sample() -> RunResult {
    let workload = Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some(16 << 20),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    };
    let mut device = Device::load("slc-generic").expect("built in");
    let shape = Overrides { capacity: Some(16 << 20), ..Default::default() };
    device = device.with(&shape).expect("a shape");
    let policy = PolicySpec::parse("greedy", None, None).expect("a policy");
    let mut result =
        run(&Job::new(device, policy, Input::Workload(&workload)), &Progress::default())
            .expect("it runs");
    result.lifetime.few_erases = false;
    result.memory = Some(Memory { bytes_per_page: 8.0, total_bytes: 8000 });
    result
}

/// Runs with these lifetimes and this much RAM, one a seed.
fn runs(tbw: &[f64], bytes: u64) -> Vec<RunResult> {
    let sample = sample();
    let one = |tbw: &f64| {
        let mut run = sample.clone();
        run.lifetime.tbw_bytes = Some(*tbw);
        run.memory = Some(Memory { bytes_per_page: 1.0, total_bytes: bytes });
        run
    };
    tbw.iter().map(one).collect()
}

fn ask(aim: Aim, policies: &[(&str, Vec<RunResult>)]) -> Answer {
    ask_for(Wish { aim, ..Wish::default() }, policies)
}

fn ask_for(wish: Wish, policies: &[(&str, Vec<RunResult>)]) -> Answer {
    let candidates: Vec<_> =
        policies.iter().map(|(name, runs)| Candidate { name, runs: vec![&runs[..]] }).collect();
    answer(wish, &candidates)
}

#[test]
fn the_longest_life_wins_by_how_much_it_is_longer() {
    let policies =
        [("greedy", runs(&[1.0], 10)), ("next", runs(&[2.0], 9)), ("best", runs(&[3.0], 99))];
    let answer = ask(Aim::Endurance, &policies);
    assert_eq!((answer.best.as_deref(), answer.next.as_deref()), (Some("best"), Some("next")));
    assert!((answer.margin.expect("a next") - 0.5).abs() < 1e-12);
    assert!((answer.over_greedy.expect("greedy ran") - 2.0).abs() < 1e-12);
    assert!(answer.ties.is_empty() && answer.metric == "lifetime.tbw_bytes");
    let costs = answer.costs.expect("it costs");
    assert!((costs.total_bytes.expect("counted") - 99.0).abs() < 1e-9);
    assert_eq!(ask(Aim::Memory, &policies).best.as_deref(), Some("next"));
}

#[test]
fn what_lies_within_a_percent_is_chosen_by_memory() {
    let policies =
        [("large", runs(&[1.009], 200)), ("greedy", runs(&[1.0], 100)), ("poor", runs(&[0.5], 1))];
    let answer = ask(Aim::Endurance, &policies);
    assert_eq!((answer.best.as_deref(), &answer.ties[..]), (Some("greedy"), &["large".into()][..]));
    assert_eq!((answer.next.as_deref(), answer.over_greedy), (Some("poor"), None));
    let all = ask(Aim::Endurance, &policies[..2]);
    assert_eq!((all.best.as_deref(), all.margin), (Some("greedy"), None));
}

#[test]
fn differences_within_the_noise_of_seeds_are_ties() {
    let noisy = [("a", runs(&[1.0, 1.3, 0.9], 10)), ("b", runs(&[1.1, 1.0, 1.05], 5))];
    let answer = ask(Aim::Endurance, &noisy);
    assert_eq!((answer.best.as_deref(), &answer.ties[..]), (Some("b"), &["a".into()][..]));
    // The same mean difference, equal in each seed.
    let steady = [("a", runs(&[1.0, 1.3, 0.9], 10)), ("b", runs(&[0.95, 1.235, 0.855], 5))];
    let answer = ask(Aim::Endurance, &steady);
    assert_eq!((answer.best.as_deref(), answer.ties.len()), (Some("a"), 0));
    assert!(are_tied(&[1.0], &[1.005]) && !are_tied(&[1.0], &[1.02]));
    assert!(are_tied(&[0.0], &[0.0]) && !are_tied(&[0.0], &[5.0]));
}

#[test]
fn too_few_erases_and_overload_are_said() {
    let mut few = runs(&[1.0], 10);
    few[0].lifetime.few_erases = true;
    few[0].write_amplification = Some(1.0);
    few[0].lifetime.overloaded = true;
    few[0].lifetime.time_factor = Some(3.1);
    let mut other = runs(&[9.0], 10);
    other[0].write_amplification = Some(2.0);
    let answer = ask(Aim::Endurance, &[("few", few), ("other", other)]);
    assert!(answer.few_erases && answer.metric == "write_amplification");
    assert_eq!((answer.best.as_deref(), answer.overloaded), (Some("few"), Some(3.1)));
}

#[test]
fn what_knows_the_future_or_ended_early_is_no_choice() {
    let mut oracle = runs(&[9.0], 1);
    oracle[0].config.placement = Some("oracle".into());
    let mut early = runs(&[9.0], 1);
    early[0].host.requests -= 1;
    let policies = [("oracle", oracle), ("early", early), ("greedy", runs(&[1.0], 1))];
    assert_eq!(ask(Aim::Endurance, &policies).best.as_deref(), Some("greedy"));
    let mut idle = runs(&[1.0], 1);
    idle[0].cleaning.victims = 0;
    let answer = ask(Aim::Endurance, &[("a", idle)]);
    assert_eq!((answer.best, answer.undecided), (None, Some("nothing was cleaned")));
}

#[test]
fn a_few_erases_tell_no_policies_apart() {
    let with = |tbw: f64, bytes: u64, erases: u64| {
        let mut runs = runs(&[tbw], bytes);
        runs[0].lifetime.from_erases = erases;
        runs
    };
    // 16 against 17 erases.
    let few = [("large", with(1.062, 20, 16)), ("small", with(1.0, 10, 17))];
    let answer = ask(Aim::Endurance, &few);
    assert_eq!((answer.best.as_deref(), answer.few_events), (Some("small"), Some(16)));
    let many = [("large", with(1.062, 20, 16_000)), ("small", with(1.0, 10, 17_000))];
    let answer = ask(Aim::Endurance, &many);
    assert_eq!((answer.best.as_deref(), answer.few_events), (Some("large"), None));
}

#[test]
fn a_policy_that_the_asker_cannot_build_is_named_and_left_out() {
    let mut host = runs(&[9.0], 1);
    host[0].config.placement = Some("multi-stream(streams=6)".into());
    let policies = [("multi-stream", host), ("greedy", runs(&[1.0], 1))];
    let answer = ask(Aim::Endurance, &policies);
    let out = LeftOut { policy: "multi-stream".into(), reason: Reason::ModelsHost };
    assert_eq!((answer.best.as_deref(), &answer.left_out[..]), (Some("greedy"), &[out][..]));
    let ask = |buildable| ask_for(Wish { buildable, ..Wish::default() }, &policies).best;
    assert_eq!(ask(Buildable::Any).as_deref(), Some("multi-stream"));
    assert_eq!(ask(Buildable::Host).as_deref(), Some("multi-stream"));
}

#[test]
fn response_times_of_a_queue_are_not_ranked() {
    let with = |p99: f64, overloaded: bool| {
        let mut runs = runs(&[1.0], 1);
        runs[0].response_us.write.p99 = Some(p99);
        runs[0].lifetime.overloaded = overloaded;
        runs
    };
    let policies = [("late", with(1.0, true)), ("in time", with(2.0, false))];
    let answer = ask(Aim::Latency, &policies);
    assert_eq!((answer.best.as_deref(), answer.left_out.len()), (Some("in time"), 1));
    let answer = ask(Aim::Latency, &[("a", with(1.0, true)), ("b", with(2.0, true))]);
    assert!(answer.best.is_none() && answer.undecided.is_some_and(|why| why.contains("queue")));
    assert!(ask(Aim::Endurance, &policies).left_out.is_empty());
    let mut short = with(1.0, false);
    short[0].response_us.write.count = 999;
    let answer = ask(Aim::Latency, &[("short", short), ("long", with(2.0, false))]);
    assert!(answer.undecided.is_some_and(|why| why.contains("too few")), "{answer:?}");
}
