//! Idle work.

use std::time::{Duration, Instant};

use thermocline_flash::Timing;
use thermocline_media::Medium;
use thermocline_policy::{Args, idle};
use thermocline_server::Opening;

use crate::{
    layer::{page_mapped, ram},
    running::{Running, with_metrics},
    slow::Slow,
};

const PAGES: u32 = 2048;

fn running(policy: Option<(&str, &str, &str)>) -> Running {
    running_on(ram(48), policy)
}

fn running_on(chip: Box<dyn Medium>, policy: Option<(&str, &str, &str)>) -> Running {
    let built = policy.map(|(name, key, value)| {
        let entry = idle::find(name).expect("there is such a policy");
        (entry.build)(&Args(vec![(key.into(), value.into())])).expect("its argument is right")
    });
    let layer = page_mapped(chip, "greedy", PAGES, 12);
    let opening = Opening { idle: built, timing: Timing::default(), ..Opening::new(layer) };
    let running = Running::start(vec![opening], with_metrics());
    let mut client = running.connect();
    // Twice, in steps that leave garbage everywhere.
    for step in [1, 7] {
        for i in 0..u64::from(PAGES) {
            let page = i * step % u64::from(PAGES);
            client.write(page * 4096, &[step as u8; 4096]).expect("an answer");
        }
    }
    running
}

fn free(running: &Running) -> f64 {
    running.metric("thermocline_free_blocks{")
}

#[test]
fn an_idle_timer_cleans_ahead_when_nobody_asks_for_a_while() {
    let running = running(Some(("timer", "after", "50ms")));
    let begun = Instant::now();
    while free(&running) < 12.0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} blocks are free", free(&running));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(running.metric("thermocline_cleaning_victims_idle_total") > 0.0);
    let mut client = running.connect();
    let mut found = [0; 4096];
    client.read(77 * 4096, &mut found).expect("an answer");
    assert_eq!(found, [7; 4096], "what was moved is what was written");
}

#[test]
fn without_an_idle_policy_nothing_is_cleaned_ahead() {
    let running = running(None);
    let before = free(&running);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(free(&running), before);
    assert_eq!(running.metric("thermocline_cleaning_victims_idle_total"), 0.0);
}

#[test]
fn a_request_waits_for_a_copy_and_not_for_a_block() {
    // Half of a victim is garbage at most: 32 copies and more.
    const HALF: u32 = 16;
    let (chip, known) = Slow::chip(48, Duration::ZERO);
    let running = running_on(chip, Some(("timer", "after", "300ms")));
    known.gate.close();
    known.gate.wait();
    let mut client = running.connect();
    std::thread::scope(|scope| {
        let asking = scope.spawn(move || client.read(0, &mut [0; 4096]).expect("an answer"));
        let passed = known.gate.let_through(HALF, || asking.is_finished());
        assert_eq!(asking.join().expect("no panic"), 0);
        assert!(passed.is_some(), "it waited for {HALF} copies");
    });
}
