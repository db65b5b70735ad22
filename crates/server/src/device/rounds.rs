//! Rounds through all data of a device: each page is read and verified once a period, a few at a time, so
//! that damage is heard of while there is another copy of the data elsewhere.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use thermocline_flash::Lpn;
use thermocline_ftl::{FtlError, IdleStep};

use super::{Device, Fault, Step};

/// Pages that are verified with the device in hand.
const AT_ONCE: u64 = 16;
/// Pages that are verified at a look, however far behind the rounds are.
const MOST: u64 = 4096;

/// How far the rounds are.
#[derive(Debug)]
pub(crate) struct Rounds {
    period: Duration,
    began: Instant,
    /// Pages that were looked at or passed over, in all rounds.
    at: AtomicU64,
    pub(crate) verified: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Rounds {
    pub(super) fn new(period: Duration) -> Self {
        let [at, verified, failed] = [const { AtomicU64::new(0) }; 3];
        Self { period, began: Instant::now(), at, verified, failed }
    }

    /// Finished rounds through `pages` pages.
    pub(crate) fn over(&self, pages: u64) -> u64 {
        self.at.load(Relaxed) / pages.max(1)
    }

    /// The number of pages due now.
    fn due(&self, pages: u64) -> u64 {
        let share = self.began.elapsed().as_secs_f64() / self.period.as_secs_f64().max(1e-3);
        let due = (share * pages as f64) as u64;
        due.saturating_sub(self.at.load(Relaxed)).min(MOST)
    }
}

impl Device {
    /// The rounds through its data, where they are wanted.
    pub(crate) const fn rounds(&self) -> Option<&Rounds> {
        self.rounds.as_ref()
    }

    /// Logical pages.
    pub(crate) const fn pages(&self) -> u64 {
        self.size / self.page_size as u64
    }

    /// Verifies the next few pages that are due; gives way to who has the device or waits for it.
    pub(crate) fn verify_step(&self) -> Step {
        let Some(rounds) = &self.rounds else { return Step::Nothing };
        let due = rounds.due(self.pages()).min(AT_ONCE);
        if due == 0 {
            return Step::Nothing;
        }
        let step = self.step(1, |state, _| {
            let first = rounds.at.fetch_add(due, Relaxed);
            let mut page = std::mem::take(&mut state.page);
            for number in first..first + due {
                let lpn = (number % self.pages()) as u32;
                match state.layer.upkeep().verify(Lpn(lpn), &mut page) {
                    Ok(holds_data) => rounds.verified.fetch_add(u64::from(holds_data), Relaxed),
                    Err(error @ (FtlError::Flash(_) | FtlError::Lost(_))) => {
                        let fault = Fault::of_layer(error, lpn, self.page_size);
                        self.news.tell_of(&self.name, &fault);
                        rounds.failed.fetch_add(1, Relaxed)
                    }
                    Err(_) => 0,
                };
            }
            state.page = page;
            Ok(IdleStep::Done)
        });
        if step == Step::Done && rounds.at.load(Relaxed) % self.pages() < due {
            tracing::info!(
                export = self.name(),
                verified = rounds.verified.load(Relaxed),
                failed = rounds.failed.load(Relaxed),
                "all data were verified"
            );
        }
        step
    }
}
