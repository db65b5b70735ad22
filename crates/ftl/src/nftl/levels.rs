//! The shares of the configuration as numbers of blocks and pages of the device at hand.

use super::config::Config;

/// Thresholds of free blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    /// With fewer free blocks the host takes none: one is the next fold's. On a chip that keeps data another is there for a
    /// fold whose target fails, while there is one to spare.
    pub(super) least: u32,
    /// Collection starts below this number of free blocks.
    pub(super) start: u32,
    /// It ends at this number.
    pub(super) stop: u32,
    /// Below this number any pair is worth folding in idle time.
    pub(super) short: u32,
    pub(super) reclaim: Option<ReclaimLevels>,
}

/// Proactive reclamation's thresholds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReclaimLevels {
    /// It starts above this number of dead pages...
    pub(super) dead: u64,
    /// ... and from this number of blocks in use on.
    pub(super) used: u32,
    /// It ends at this number of dead pages...
    pub(super) target: u64,
    /// ... or once this number of blocks is erased.
    pub(super) blocks: u64,
}

/// Blocks beside those that the data take: one for the host and one for the next fold.
pub const RESERVE: u32 = 2;

impl Levels {
    /// Of `usable` blocks of `pages` pages.
    pub(super) fn new(config: &Config, usable: u32, pages: u32, keeps_data: bool) -> Self {
        let needed = config.logical_pages.div_ceil(pages).saturating_add(RESERVE);
        let least = RESERVE + u32::from(keeps_data && usable > needed);
        // "free < share · usable" for whole numbers of free blocks.
        let share = |percent: u32| {
            let blocks = (u64::from(usable) * u64::from(percent)).div_ceil(100);
            (blocks.min(u64::from(usable)) as u32).max(least)
        };
        let reclaim = config.reclaim.as_ref().map(|r| {
            let all_pages = f64::from(usable) * f64::from(pages);
            let of_pages = |share: f64| (share * all_pages + SLACK) as u64;
            ReclaimLevels {
                dead: of_pages(r.delta),
                used: ceil(r.mu * f64::from(usable)) as u32,
                target: of_pages(r.target),
                blocks: if r.cap {
                    ceil((r.delta - r.target) * f64::from(usable)).max(1)
                } else {
                    u64::MAX
                },
            }
        });
        let start = share(config.start_percent);
        let short = match config.idle_short_percent {
            0 => 0,
            percent => share(percent),
        };
        Self { least, start, stop: share(config.stop_percent).max(start), short, reclaim }
    }
}

/// Shares are not exact in binary: 0.20 − 0.18 of 100 blocks shall be two.
const SLACK: f64 = 1e-9;

/// The least whole number that is not less, 0 for negative numbers.
fn ceil(x: f64) -> u64 {
    let floor = (x + SLACK) as u64;
    floor + u64::from(x - floor as f64 > SLACK)
}
