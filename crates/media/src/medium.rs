//! What a chip that a server writes to can do beside the operations of flash.

use std::{fmt, io, ops::DerefMut, sync::Arc};

use thermocline_flash::{Chip, FlashError};

use crate::MediumError;

/// What a medium has seen, in its life or since it was opened, as it can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Reads in which bits were corrected.
    pub corrected_reads: u64,
    /// Reads that failed: more bits had turned than can be corrected.
    pub failed_reads: u64,
    /// Pages that could not be programmed.
    pub failed_programs: u64,
    /// Blocks that could not be erased.
    pub failed_erases: u64,
    /// Blocks that must not be used.
    pub bad_blocks: u32,
    /// Syncs of the system below that were waited for.
    pub syncs: u64,
}

/// What lies below a chip and has to be waited for.
pub trait Durable: fmt::Debug + Send + Sync {
    /// Waits until everything that was written before the call survives a loss of power.
    ///
    /// # Errors
    /// Those of the system. After one nobody knows what lasts, so every later call fails as well.
    fn sync(&self) -> io::Result<()>;
}

/// A sync that was begun: what it covers, and how to wait for it without the chip in hand.
#[derive(Clone, Debug, Default)]
pub struct Syncing {
    /// What the medium notes about how far this sync goes.
    pub generation: u64,
    /// What has to be synced; nothing where everything lasts as soon as it is done.
    pub target: Option<Arc<dyn Durable>>,
}

impl Syncing {
    /// Waits until what was done before it was begun lasts.
    ///
    /// # Errors
    /// Those of the system.
    pub fn wait(&self) -> io::Result<()> {
        self.target.as_ref().map_or(Ok(()), |target| target.sync())
    }
}

/// A chip that can be synced while others go on using it: begin, wait without the chip, finish.
///
/// What was programmed before the begin lasts once the wait is over. Erases may lag: a medium may
/// carry them out only in the finish, and then the next sync is the first to make their blocks blank
/// for good. [`Flash::sync`](thermocline_flash::Flash::sync) does all of it, and leaves nothing behind.
pub trait Medium: Chip + Send {
    /// Begins a sync of all that was done so far.
    ///
    /// # Errors
    /// [`FlashError::Medium`].
    fn begin_sync(&mut self) -> Result<Syncing, FlashError> {
        Ok(Syncing::default())
    }

    /// A sync was waited for, with success.
    ///
    /// # Errors
    /// [`FlashError::Medium`].
    fn finish_sync(&mut self, done: &Syncing) -> Result<(), FlashError> {
        let _ = done;
        Ok(())
    }

    /// Whether a sync waits for a disk: then it pays to do much between two.
    fn waits_for_disk(&self) -> bool {
        false
    }

    /// Takes its name, where it was made for one: what has the name is as it was until then.
    ///
    /// # Errors
    /// [`MediumError`].
    fn publish(&mut self) -> Result<(), MediumError> {
        Ok(())
    }

    /// Whether it holds data that are not a chip's: those of another program.
    fn is_foreign(&self) -> bool {
        false
    }

    /// The blocks that may be partly programmed at a time, where the device limits that: its own limit, and how many
    /// of those are left for a layer.
    fn most_open_blocks(&self) -> Option<(u32, u32)> {
        None
    }

    /// What it has seen.
    fn health(&self) -> Health {
        Health::default()
    }

    /// What an operator should know of how it was opened, in words.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is damaged of what the medium keeps beside the chip's pages, in words.
    fn ailments(&self) -> Vec<String> {
        Vec::new()
    }

    /// Mends what it can of that, for good, and says what it did.
    ///
    /// # Errors
    /// [`FlashError::Medium`].
    fn mend(&mut self) -> Result<Vec<String>, FlashError> {
        Ok(Vec::new())
    }
}

impl<P: DerefMut<Target: Medium> + Send> Medium for P {
    fn begin_sync(&mut self) -> Result<Syncing, FlashError> {
        (**self).begin_sync()
    }
    fn finish_sync(&mut self, done: &Syncing) -> Result<(), FlashError> {
        (**self).finish_sync(done)
    }
    fn waits_for_disk(&self) -> bool {
        (**self).waits_for_disk()
    }
    fn publish(&mut self) -> Result<(), MediumError> {
        (**self).publish()
    }
    fn is_foreign(&self) -> bool {
        (**self).is_foreign()
    }
    fn most_open_blocks(&self) -> Option<(u32, u32)> {
        (**self).most_open_blocks()
    }
    fn health(&self) -> Health {
        (**self).health()
    }
    fn remarks(&self) -> Vec<String> {
        (**self).remarks()
    }
    fn ailments(&self) -> Vec<String> {
        (**self).ailments()
    }
    fn mend(&mut self) -> Result<Vec<String>, FlashError> {
        (**self).mend()
    }
}
