//! Idle work.

use std::time::{Duration, Instant};

use thermocline_flash::Timing;
use thermocline_policy::{Args, idle};
use thermocline_server::Opening;

use crate::{
    layer::{page_mapped, ram},
    running::{Running, with_metrics},
};

const PAGES: u32 = 2048;

fn running(policy: Option<(&str, &str, &str)>) -> Running {
    let built = policy.map(|(name, key, value)| {
        let entry = idle::find(name).expect("there is such a policy");
        (entry.build)(&Args(vec![(key.into(), value.into())])).expect("its argument is right")
    });
    let layer = page_mapped(ram(48), "greedy", PAGES, 12);
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
