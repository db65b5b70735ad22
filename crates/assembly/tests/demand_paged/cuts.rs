//! Power that fails in every operation of many histories: nothing that was flushed is lost.

use thermocline_assembly::AnyLayer;
use thermocline_ftl::Mount;
use thermocline_media::{Cut, Faults};
use thermocline_testing::Draws;

use crate::model::{Model, OfChip, format, mount, store};

const HISTORIES: u64 = 12;
const LENGTH: u32 = 110;

/// Uses a store until it fails, or for `operations` operations. True if the power failed.
fn used(
    layer: &mut AnyLayer<OfChip>,
    model: &mut Model,
    draws: &mut Draws,
    operations: u32,
) -> bool {
    for _ in 0..operations {
        if model.operate(layer, draws).is_err() {
            assert!(!layer.chip().is_on(), "only a loss of power fails");
            return true;
        }
    }
    false
}

fn cut_everywhere(policy: &str, cache: u32) {
    let store = store(policy);
    let (mut cuts, mut looked) = (0, 0);
    for seed in 1..=HISTORIES {
        let faults = Faults { seed, cache, ..Faults::default() };
        // A third of the store is filled, so that cleaning has work.
        let (mut model, mut draws) = (Model::new(), Draws(seed));
        let mut layer = format(&store, faults);
        assert!(!used(&mut layer, &mut model, &mut draws, 400));
        model.holds_the_newest(&mut layer);
        model.flush(&mut layer).expect("flushed");
        let begun = (layer.chip().clone(), model, draws);
        // Cuts at every later operation, each history from the same state.
        let mut operation = 0;
        loop {
            let (chip, mut model, mut draws) = begun.clone();
            let (mut layer, _) = mount(&store, chip, Mount::Quick);
            model.recovered(&mut layer);
            let way = Draws(seed << 32 | operation).below(5);
            let way = [Cut::Before, Cut::Torn, Cut::Payload, Cut::Partly(operation), Cut::After]
                [way as usize];
            layer.chip_mut().cut_after(operation, way);
            if !used(&mut layer, &mut model, &mut draws, LENGTH) {
                assert!(operation > u64::from(LENGTH / 2), "each write is an operation");
                break;
            }
            cuts += 1;
            let (mut layer, recovery) = mount(&store, layer.chip().clone(), Mount::Quick);
            assert!(!recovery.clean);
            model.recovered(&mut layer);
            // The power fails again during the first change, and once it does not.
            let again = Draws(operation).below(12).into();
            layer.chip_mut().cut_after(again, way);
            if used(&mut layer, &mut model, &mut draws, 20) {
                layer = mount(&store, layer.chip().clone(), Mount::Quick).0;
                model.recovered(&mut layer);
            }
            layer.chip_mut().power_on();
            assert!(!used(&mut layer, &mut model, &mut draws, 20));
            model.holds_the_newest(&mut layer);
            model.unmount(&mut layer).expect("unmounted");
            let (mut layer, recovery) = mount(&store, layer.chip().clone(), Mount::FromPages);
            // A torn map page makes a mount scan all areas, and find the same.
            looked += u32::from(!recovery.clean);
            model.holds_the_newest(&mut layer);
            operation += 1;
        }
    }
    assert!(cuts > 1000 && looked < cuts / 100, "{looked} of {cuts} looked for something");
}

#[test]
fn a_loss_of_power_takes_nothing_that_was_flushed() {
    cut_everywhere("greedy", 0);
    cut_everywhere("dac", 0);
}

#[test]
fn nor_does_one_that_loses_what_a_cache_held_back() {
    cut_everywhere("hot-cold", 10);
    cut_everywhere("dac", 40);
}

#[test]
fn blocks_that_fail_lose_nothing() {
    for seed in 1..=40 {
        let store = store("dac");
        let faults = Faults { seed, program: 0.001, erase: 0.002, ..Faults::default() };
        let (mut model, mut draws) = (Model::new(), Draws(seed));
        let mut layer = format(&store, faults);
        for _ in 0..3000 {
            if let Err(e) = model.operate(&mut layer, &mut draws) {
                assert_eq!(e.to_string(), "the chip is worn out: it takes no more writes");
                break;
            }
        }
        // A refused write changed nothing. Trims may be lost if none can be recorded.
        model.clone().recovered(&mut layer);
        let (mut again, _) = mount(&store, layer.chip().clone(), Mount::Quick);
        model.recovered(&mut again);
    }
}
