//! The number of the oracle's classes. Each class is an open block, and small devices have few
//! spare blocks.

use crate::{Device, Job, setup::Setup};

/// Numbers of classes for the oracle, best first: up to half of a bank's spare blocks. Open blocks
/// are spare space that garbage cannot use. With more classes the oracle would copy more than
/// policies that do not know the future.
pub(crate) const CLASSES: [u32; 7] = [16, 14, 12, 10, 8, 6, 4];

/// The job with as many classes of the oracle as its device has room for, if that requires a
/// change.
pub(crate) fn with_fewer_classes<'a>(job: &Job<'a>) -> Option<Job<'a>> {
    let has_room = |job: &Job<'a>, classes| {
        Setup::of(job).is_ok_and(|setup| setup.plan.spare_blocks >= 2 * classes)
    };
    if !job.policy.takes_what_there_is() || has_room(job, CLASSES[0]) {
        return None;
    }
    // Size the device before choosing classes, because the sizing adds room for policies with a
    // number of streams.
    let device = Device { fixed_capacity: true, ..Setup::sized_device(job).ok()? };
    let with = |classes: &u32| {
        let mut job = Job { device: device.clone(), ..job.clone() };
        job.policy.placement.args.0.push(("classes".into(), classes.to_string()));
        job
    };
    let all = CLASSES[1..].iter();
    let roomy = all.clone().find(|classes| has_room(&with(classes), **classes)).map(with);
    // Otherwise use the fewest classes that the device accepts.
    roomy.or_else(|| all.rev().map(with).find(|job| Setup::of(job).is_ok()))
}
