//! Thousands of histories of each kind of fault.

use std::{collections::BTreeMap, env, panic};

use crate::{
    histories::{KINDS, Kind, MENDED, NOT_YET_SURVIVED, Stores, replay},
    promises::{Broken, broken},
    seeds,
};

/// A history, and what it breaks, a panic included.
fn run(stores: &mut Stores, kind: Kind, seed: u64, stops: bool) -> Result<u64, Broken> {
    let history = panic::AssertUnwindSafe(|| stores.history(kind, seed, stops));
    panic::catch_unwind(history).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map_or("", String::as_str);
        let said = panic.downcast_ref::<&str>().copied().unwrap_or(said);
        Err(broken("panic", said))
    })
}

#[test]
fn faults() {
    run_all(false);
}

#[test]
fn faults_where_snapshots_are_kept() {
    run_all(true);
}

fn run_all(stops: bool) {
    let mut stores = Stores::default();
    if let Ok(one) = env::var("THERMOCLINE_FAULTS") {
        let (name, seed) = one.split_once(':').expect("a kind and a seed: torn:17");
        let kind = KINDS.iter().find(|(known, _)| *known == name).expect("a kind of fault").1;
        let broken = stores.history(kind, seed.parse().expect("a number"), stops);
        return println!("{broken:?}");
    }
    let many = seeds();
    for (name, seed) in MENDED.into_iter().filter(|_| many.is_none() && !stops) {
        let kind = KINDS.iter().find(|(known, _)| *known == name).expect("a kind of fault").1;
        let broken = run(&mut stores, kind, seed, false);
        assert!(broken.is_ok(), "{broken:?}\n{}", replay(name, seed, false));
    }
    let only = env::var("THERMOCLINE_FAULT_KIND").ok();
    for (name, kind) in KINDS {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        if many.is_none() && NOT_YET_SURVIVED.contains(&kind) {
            continue;
        }
        let (mut broken, mut acknowledged) = (BTreeMap::<_, Vec<(u64, String)>>::new(), 0);
        let histories = many.clone().unwrap_or(0..if stops { 20 } else { 60 });
        for seed in histories.clone() {
            match run(&mut stores, kind, seed, stops) {
                Ok(writes) => acknowledged += writes,
                Err(fault) => broken.entry(fault.kind).or_default().push((seed, fault.what)),
            }
        }
        println!("{name}: histories {histories:?}, {acknowledged} writes");
        for (fault, seeds) in &broken {
            println!("  {fault}: {}", seeds.len());
            for (seed, what) in &seeds[..seeds.len().min(8)] {
                println!("    {what}\n    {}", replay(name, *seed, stops));
            }
        }
        assert!(many.is_some() || broken.is_empty(), "promises are broken");
    }
}
