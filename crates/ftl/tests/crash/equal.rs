//! Both ways of mounting build the same tables.

use thermocline_ftl::Mount;

use super::{
    Kind,
    chip::{CUTS, Cut, Op, Synced, survivors},
    common::Draws,
    device::tables,
    history,
};

#[test]
fn a_checkpoint_and_the_pages_make_the_same_tables() {
    let mut compared = [0; 2];
    for seed in 0..300 {
        let (mut now, mut last) = (0, 0);
        let (world, history) = history(seed, Kind::Rough, &mut now, &mut last);
        let mut draws = Draws(seed);
        for _ in 0..10 {
            let at = draws.below(history.ops.len() as u32 + 1) as usize;
            let cut = CUTS[draws.below(2) as usize];
            let mut synced = Synced { state: history.start.clone(), since: Vec::new() };
            history.ops[..at].iter().for_each(|op| synced.then(&world.geometry, op));
            let left = survivors(&synced, &world.geometry, cut, &mut draws);
            assert!(matches!(cut, Cut::InOrder | Cut::OnlySynced));
            let [quick, pages] = [Mount::Quick, Mount::FromPages].map(|how| {
                let mounted = world.mount(world.chip(left.clone()), 0, how);
                let (mut device, recovery) = mounted.unwrap_or_else(|e| panic!("{e}"));
                let tables = tables(&world, &*device);
                // The next number is seen beside the next page.
                let page = [1; super::device::PAGE];
                device.write(thermocline_flash::Lpn(0), &page, now).expect("written");
                let ops = super::ops(&mut *device);
                let written = ops.iter().find_map(|op| match op {
                    Op::Program(_, super::chip::Page::Holds(oob, _))
                        if oob.lpn != thermocline_flash::Lpn::NONE =>
                    {
                        Some(oob.sequence)
                    }
                    _ => None,
                });
                (recovery, tables, written)
            });
            assert_eq!(quick.1, pages.1, "seed {seed}, {at} operations, {cut:?}");
            assert_eq!(quick.2, pages.2, "seed {seed}, {at} operations, {cut:?}");
            assert_eq!(quick.0.clean, pages.0.clean);
            compared[usize::from(quick.0.used_checkpoint)] += 1;
        }
    }
    assert!(compared[1] > 500, "checkpoints were used: {compared:?}");
}
