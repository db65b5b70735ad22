//! A log for each stream of each bank, cleaned from its oldest end, for placements that choose the
//! log to clean. Each bank has one more log for read-only data, which is cleaned once half of its
//! oldest block is garbage.

use thermocline_flash::BlockId;

use super::queues::Queues;
use crate::{BlockView, Context};

/// Maximum number of blocks without garbage that one search moves to the end.
const PASSED: u32 = 8;

/// The full blocks of each log, in the order they closed. The placement updates them in its
/// [`Streams`](super::Streams) events.
#[derive(Clone, Debug)]
pub struct Logs {
    queues: Queues,
    /// Logs of writable data in a bank.
    count: u8,
}

impl Logs {
    pub(super) fn new(context: &Context, count: u8) -> Self {
        let queues = context.banks.max(1) * (u32::from(count) + 1);
        Self { queues: Queues::new(context.blocks, queues), count }
    }

    fn queue(&self, bank: u32, log: u8) -> u32 {
        bank * (u32::from(self.count) + 1) + u32::from(log)
    }

    /// Full blocks in a log of a bank.
    pub(super) fn len(&self, bank: u32, log: u8) -> u32 {
        self.queues.len(self.queue(bank, log))
    }

    /// Adds a full block. Streams beyond the logs hold read-only data.
    pub(super) fn push(&mut self, bank: u32, stream: u8, block: BlockId) {
        self.queues.push(self.queue(bank, stream.min(self.count)), block);
    }

    /// Removes a block that is cleaned or opened again.
    pub(super) fn remove(&mut self, block: BlockId) {
        self.queues.remove(block);
    }

    /// Wear levelling moved all data of `old` to `new`.
    pub(super) fn replace(&mut self, old: BlockId, new: BlockId) {
        if let Some(queue) = self.queues.of(old) {
            self.queues.remove(old);
            self.queues.push(queue, new);
        }
    }

    /// The block to clean from the log with the lowest `cost`, the first in `order` among equals. A
    /// block with only garbage at the head of any log comes first, because it costs nothing. Blocks
    /// without garbage at the head of the chosen log move to its end, at most eight of them. Then
    /// the next log whose oldest block has garbage is cleaned; `None` if there is none.
    pub(super) fn choose(
        &mut self,
        bank: u32,
        blocks: &BlockView,
        order: impl Iterator<Item = u8>,
        cost: impl Fn(&Self, u8) -> f64,
    ) -> Option<BlockId> {
        // The log with the lowest cost, and the one with the lowest cost whose oldest block has
        // garbage.
        let mut least: Option<(f64, u32)> = None;
        let mut ready: Option<(f64, BlockId)> = None;
        for log in order {
            let queue = self.queue(bank, log);
            let Some(block) = self.queues.oldest(queue, blocks) else { continue };
            if blocks.block(block).valid == 0 {
                return Some(block);
            }
            let cost = cost(self, log);
            if least.is_none_or(|(best, _)| cost < best) {
                least = Some((cost, queue));
            }
            if blocks.has_garbage(block) && ready.is_none_or(|(best, _)| cost < best) {
                ready = Some((cost, block));
            }
        }
        if let Some(block) = self.queues.oldest(self.queue(bank, self.count), blocks)
            && 2 * blocks.block(block).valid <= blocks.pages()
        {
            return Some(block);
        }
        least
            .and_then(|(_, queue)| self.queues.first_with_garbage(queue, blocks, PASSED))
            .or(ready.map(|(_, block)| block))
    }
}
