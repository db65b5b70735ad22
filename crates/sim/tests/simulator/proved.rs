//! Inputs and devices on which the calendar is proved to copy nothing (docs/oracle.md).

use thermocline_policy::{
    Args, Context,
    placement::{Calendar, Registered},
};
use thermocline_sim::{Device, Fill, Input, Job, PolicySpec, Progress, future_of, run};

use crate::common::{Ask, Draws, device, done, job, policy, trace, write};

fn small(blocks: u32, pages: u32) -> Device {
    let mut device = device("slc-generic", 1, 1);
    let geometry = &mut device.profile.geometry;
    (geometry.pages_per_block, geometry.blocks_per_bank) = (pages, blocks);
    device
}

/// Rounds that write every page once, each in another order.
fn rounds(logical: u32) -> Vec<Ask> {
    let mut random = Draws(11);
    let round = |_| {
        let mut pages: Vec<u32> = (0..logical).collect();
        for at in (1..pages.len()).rev() {
            pages.swap(at, random.index(at + 1));
        }
        pages
    };
    (0..6).flat_map(round).map(|page| write(page, 1)).collect()
}

#[test]
fn the_calendar_copies_nothing_where_that_is_proved() {
    const FULL: u32 = 1500;
    for (pages, streams) in [(4, 40), (4, 80), (8, 60)] {
        let logical = FULL * pages;
        let asked = trace(&rounds(logical), 4096);
        let ours = format!("calendar(streams={streams})");
        let ours = PolicySpec::parse("calendar", None, Some(&ours)).expect("a placement");
        let of = |spare, policy| Job {
            fill: Fill::Nothing,
            logical_pages: Some(logical),
            ..job(small(FULL + spare, pages), policy, Input::Trace(&asked, 1))
        };
        let copied = |spare, policy| done(&of(spare, policy)).flash.pages_copied;
        let copies_or_fails = |spare, policy| {
            let ran = run(&of(spare, policy), &Progress::default());
            ran.map_or(true, |ran| ran.flash.pages_copied > 0)
        };
        let future = future_of(&of(FULL, ours.clone()), &Progress::default()).expect("a future");
        let context = Context {
            pages_per_block: pages,
            logical_pages: logical,
            future: Some(future.into()),
            ..Context::smallest()
        };
        let args = Args(vec![("streams".into(), streams.to_string())]);
        let calendar = Calendar::build(&args, &context).expect("a calendar");
        let enough = calendar.spare_blocks(pages) + context.reserve;
        assert!(enough < FULL / 3, "{enough} spare blocks are no theorem to speak of");
        assert_eq!(copied(enough, ours.clone()), 0, "{pages} pages, {streams} streams");
        assert!(copied(enough, policy("greedy")) > 1000);
        assert!(copies_or_fails(enough / 8, ours), "the spare blocks do not matter");
    }
}
