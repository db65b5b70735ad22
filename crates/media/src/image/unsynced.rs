//! The writes that no good sync covers yet, kept so that they can be repeated.
//!
//! A sync on a full file system has dropped the data that it could not write. They are written again once
//! there is room: records and tables from memory, payloads of NAND from the system's cache, each
//! verified by the checksum in its record. On NOR an erase sets the payloads that were programmed after it, so
//! memory keeps all writes, in their order.

use std::{collections::VecDeque, io};

use thermocline_flash::FlashError;

use super::{Image, checksum, record::Beside, store::Store, syncing::medium, unread::EIO};

/// Bytes of memory for all this. Nearly a gigabyte of payload fits in the usual geometries.
const MEMORY: usize = 16 << 20;
/// Bytes of payload that are written again at most: they are in memory meanwhile.
const PAYLOADS: u64 = 64 << 20;

/// The writes, in their order.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    writes: VecDeque<Write>,
    /// Bytes of memory that they take.
    memory: usize,
    /// Syncs that were begun.
    begun: u64,
    /// Syncs begun when the writes exceeded the memory. The list is complete again once a later sync has succeeded.
    overflown: Option<u64>,
}

/// A payload and its place.
type Payload = (Vec<u8>, u64);

#[derive(Debug)]
struct Write {
    /// Syncs begun before it.
    begun: u64,
    at: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Bytes(Box<[u8]>),
    /// Bytes of payload in whole pages. Their records have the checksums.
    Payload(u64),
}

impl Write {
    fn memory(&self) -> usize {
        let bytes = if let What::Bytes(bytes) = &self.what { bytes.len() } else { 0 };
        size_of::<Self>() + bytes
    }
}

impl Unsynced {
    pub(super) fn wrote(&mut self, at: u64, bytes: &[u8], is_payload: bool) {
        let what =
            if is_payload { What::Payload(bytes.len() as u64) } else { What::Bytes(bytes.into()) };
        self.push(Write { begun: self.begun, at, what });
    }

    fn push(&mut self, write: Write) {
        if self.overflown.is_none() && self.memory + write.memory() <= MEMORY {
            self.memory += write.memory();
            self.writes.push_back(write);
        } else {
            (self.writes, self.memory) = (VecDeque::new(), 0);
            self.overflown = Some(self.begun);
        }
    }

    /// Sets the number of syncs begun.
    pub(super) const fn sync_begun(&mut self, begun: u64) {
        self.begun = begun;
    }

    /// Drops the writes before the sync of this number began: they are durable.
    pub(super) fn lasts(&mut self, lasting: u64) {
        let many = self.writes.partition_point(|write| write.begun < lasting);
        self.memory -= self.writes.drain(..many).map(|write| write.memory()).sum::<usize>();
        if self.overflown.is_some_and(|begun| begun < lasting) {
            self.overflown = None;
        }
    }
}

impl Image {
    /// Repeats the writes that no good sync covers, if a sync failed because the disk was full. If the cache has lost
    /// some of their data, no later sync succeeds.
    pub(super) fn write_again(&mut self) -> Result<(), FlashError> {
        if !self.store.found_no_room() {
            return Ok(());
        }
        if self.store.unsynced().overflown.is_some() {
            return Err(self.give_up());
        }
        self.waiting.wrote();
        let writes = std::mem::take(&mut self.store.unsynced().writes);
        let done = self.write_all_again(&writes);
        let mut unsynced = self.store.unsynced();
        let begun = unsynced.begun;
        unsynced.writes = writes;
        unsynced.writes.iter_mut().for_each(|write| write.begun = begun);
        drop(unsynced);
        match done {
            Ok(true) => {
                self.store.begin_anew();
                Ok(())
            }
            Ok(false) => Err(self.give_up()),
            Err(error) => Err(medium(error)),
        }
    }

    fn give_up(&self) -> FlashError {
        medium(self.store.fail_for_ever())
    }

    /// False if a payload is lost.
    ///
    /// The cache is emptied in between, because its state of a page that could not be written may differ from
    /// the disk. ext4 writes such a page again to an extent that later reads as zeros.
    fn write_all_again(&mut self, writes: &VecDeque<Write>) -> io::Result<bool> {
        let store = self.store.clone();
        let store = store.below();
        let write_bytes = || {
            writes.iter().try_for_each(|write| match &write.what {
                What::Bytes(bytes) => store.write_at(bytes, write.at),
                What::Payload(_) => Ok(()),
            })
        };
        write_bytes()?;
        self.areas.forget_all();
        let Some(payloads) = self.payloads(store, writes)? else { return Ok(false) };
        // Fails while the disk is full, and the cache is kept.
        store.sync()?;
        if !store.evict()? {
            return Ok(false);
        }
        write_bytes()?;
        payloads.iter().try_for_each(|(payload, at)| store.write_payload(payload, *at))?;
        Ok(true)
    }

    /// The payloads and their places, if all are as they were programmed, and not too many.
    fn payloads(
        &mut self,
        store: &dyn Store,
        writes: &VecDeque<Write>,
    ) -> io::Result<Option<Vec<Payload>>> {
        let size = self.header.geometry.page_size as usize;
        let (mut payloads, mut room) = (Vec::new(), PAYLOADS);
        for write in writes {
            let What::Payload(bytes) = write.what else { continue };
            if bytes > room {
                return Ok(None);
            }
            room -= bytes;
            let mut payload = vec![0; bytes as usize];
            if store.read_at(&mut payload, write.at).is_err() {
                return Ok(None);
            }
            for (at, page) in (write.at..).step_by(size).zip(payload.chunks(size)) {
                let (block, number) = self.layout.page_at(at);
                let slot = self.load(block).map_err(|_| io::Error::from_raw_os_error(EIO))?;
                // A page without a record was never programmed.
                if let Beside::Holds(_, sum) = self.areas.beside(slot, number)
                    && sum != checksum(page)
                {
                    return Ok(None);
                }
            }
            payloads.push((payload, write.at));
        }
        Ok(Some(payloads))
    }
}
