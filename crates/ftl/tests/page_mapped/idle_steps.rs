//! Cleaning in idle time in steps, between which the host is served.

use thermocline_flash::{Lpn, Ppn};
use thermocline_ftl::{Counters, IdleStep};
use thermocline_policy::trigger::Pacing;

use crate::common::{CARD, Draws, Named, Setup, foreign, placements};

const LOGICAL: u32 = 5000;

/// What a layer has done, and where its pages are, after writes with idle time in between, in each of which two blocks
/// are cleaned; and whether a step did more than one operation.
fn cleaned(setup: &Setup, in_steps: bool) -> (Counters, Vec<Ppn>, bool) {
    let mut layer = setup.build();
    let mut draws = Draws(1);
    let (mut writes, mut is_more) = (0, false);
    for now in 1..200 {
        for _ in 0..draws.below(90) {
            // Ever less garbage in a victim, at times.
            let lpn = draws.below(if writes % 9000 < 3000 { LOGICAL } else { LOGICAL / 8 });
            layer.write(Lpn(lpn), &[], now).expect("written");
            writes += 1;
        }
        let mut left = 2;
        while left > 0 {
            let before = *layer.counters();
            let step = if in_steps {
                layer.step_in_idle_time(now).expect("cleaned")
            } else {
                IdleStep::whole(layer.clean_in_idle_time(now).expect("cleaned"))
            };
            let after = *layer.counters();
            is_more |= after.copies + after.erases > before.copies + before.erases + 1;
            match step {
                IdleStep::Nothing => break,
                IdleStep::Part => {}
                IdleStep::Done => left -= 1,
            }
        }
    }
    layer.check().expect("sound");
    let places = (0..LOGICAL).map(|lpn| layer.locate(Lpn(lpn))).collect();
    (*layer.counters(), places, is_more)
}

#[test]
fn steps_of_one_operation_do_what_cleaning_a_block_does() {
    let mut sorting = Vec::new();
    for placement in placements() {
        let name = placement.0;
        let mut setup = Setup::new(CARD, LOGICAL, Named::plain("greedy"), placement);
        setup.config.idle_free = 12;
        let (whole, steps) = (cleaned(&setup, false), cleaned(&setup, true));
        assert!(whole.0.idle_victims > 50, "{name}: {}", whole.0.idle_victims);
        assert!(whole.2, "{name}");
        assert_eq!((steps.0, &steps.1), (whole.0, &whole.1), "{name}");
        sorting.extend(steps.2.then_some(name));
    }
    assert_eq!(
        sorting,
        ["age-sort", "times-sort", foreign::DAC],
        "these need all survivors at once"
    );
}

/// A host that writes between the steps takes room that the survivors would need.
#[test]
fn the_host_takes_no_room_that_survivors_need() {
    for pacing in [Pacing::Off, Pacing::Paced] {
        let mut setup = Setup::new(CARD, 0, Named::plain("greedy"), Named::plain("one-stream"));
        setup.config.logical_pages = setup.most_logical_pages();
        setup.config.idle_free = 12;
        setup.config.pacing = pacing;
        let logical = setup.config.logical_pages;
        let mut layer = setup.build();
        (0..logical).for_each(|lpn| layer.fill(Lpn(lpn), false, 0).expect("filled"));
        let mut draws = Draws(7);
        let mut begun = 0;
        for now in 1..8000 {
            for _ in 0..draws.below(20) {
                let step = layer.step_in_idle_time(now).expect("cleaned");
                begun += u32::from(step == IdleStep::Part);
            }
            for _ in 0..draws.below(12) {
                layer.write(Lpn(draws.below(logical)), &[], now).expect("written");
            }
            if now % 64 == 0 {
                layer.check().expect("sound");
            }
        }
        assert!(begun > 10_000, "{begun}");
    }
}
