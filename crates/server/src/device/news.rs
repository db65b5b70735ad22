//! Log lines about a chip: failures, and its end of life.
//!
//! The background thread compares the layer's counters from time to time. An error to a host is
//! logged where it occurs, at most once a second, since a client may repeat its request.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use thermocline_ftl::{Counters, EndOfLife};

use super::{AnyLayer, Fault};

/// The least time between two lines about errors to hosts.
const PAUSE: Duration = Duration::from_secs(1);

/// The state that was logged last.
#[derive(Debug)]
pub(super) struct News {
    told: Mutex<Told>,
    began: Instant,
    /// When the next line may be written, in milliseconds since then.
    next: AtomicU64,
    /// Faults that were not logged.
    unsaid: AtomicU64,
}

#[derive(Debug)]
struct Told {
    counters: Counters,
    over: Option<EndOfLife>,
    failed_reads: u64,
}

impl News {
    /// Starts from the present state. The code that opens the chip reports an end of life.
    pub(super) fn of(layer: &AnyLayer) -> Self {
        let told = Told {
            counters: *layer.inspect().counters(),
            over: layer.inspect().end_of_life(),
            failed_reads: layer.chip().health().failed_reads,
        };
        let told = Mutex::new(told);
        Self { told, began: Instant::now(), next: AtomicU64::new(0), unsaid: AtomicU64::new(0) }
    }

    /// The layer was remounted: its counters start at 0.
    pub(super) fn begin_again(&self, layer: &AnyLayer) {
        let fresh = Self::of(layer).told.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
    }

    /// A request failed, or a flush did.
    #[cold]
    pub(super) fn tell_of(&self, export: &str, fault: &Fault) {
        if matches!(fault, Fault::Beyond { .. } | Fault::ReadOnly | Fault::ShuttingDown) {
            // The client's doing, or nothing new.
            return;
        }
        let now = self.began.elapsed().as_millis() as u64;
        let next = self.next.load(Relaxed);
        let later = now + PAUSE.as_millis() as u64;
        if now < next || self.next.compare_exchange(next, later, Relaxed, Relaxed).is_err() {
            self.unsaid.fetch_add(1, Relaxed);
            return;
        }
        let unsaid = self.unsaid.swap(0, Relaxed);
        match fault {
            Fault::NoSpace | Fault::FileSystemFull | Fault::WornOut => {
                tracing::warn!(export, unsaid, "a request was refused: {fault}");
            }
            fault => tracing::error!(export, unsaid, "a request failed: {fault}"),
        }
    }

    /// Logs what happened since it was last called.
    pub(super) fn tell(&self, export: &str, layer: &AnyLayer) {
        // Slightly wrong numbers are harmless.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, over) = (*layer.inspect().counters(), layer.inspect().end_of_life());
        let failed_reads = layer.chip().health().failed_reads;
        let before = &told.counters;
        let programs = now.programs_failed - before.programs_failed;
        let erases = now.erases_failed - before.erases_failed;
        if programs + erases > 0 {
            tracing::warn!(
                export,
                programs,
                erases,
                retired = now.retired,
                spare_blocks = layer.inspect().spare_blocks(),
                "programs or erases of the chip failed; what they were for went elsewhere"
            );
        }
        let lost = now.pages_lost - before.pages_lost;
        if lost > 0 {
            tracing::error!(export, lost, "pages that were to be moved cannot be read");
        }
        let misplaced = now.misplaced - before.misplaced;
        if misplaced > 0 {
            tracing::error!(
                export,
                misplaced,
                "pages hold another page's data, or older ones: writes were lost or misdirected"
            );
        }
        let reads = failed_reads - told.failed_reads;
        if reads > 0 {
            tracing::error!(export, reads, "reads of the chip failed");
        }
        if over != told.over
            && let Some(why) = over
        {
            tracing::error!(
                export,
                "the chip takes no more writes: {why}; all it holds can be read, copy it to another chip"
            );
        }
        *told = Told { counters: now, over, failed_reads };
    }
}
