//! A layer behind a pointer, for runs in which one call more a page does not matter.

use alloc::{boxed::Box, string::String, vec::Vec};

use thermocline_flash::{BlockId, Lpn, Ppn, Timing};

use crate::{Counters, DeadDataCounters, EndOfLife, FtlError, Layer};

impl<L: Layer + ?Sized> Layer for Box<L> {
    type Chip = L::Chip;

    fn chip(&self) -> &L::Chip {
        (**self).chip()
    }

    fn chip_mut(&mut self) -> &mut L::Chip {
        (**self).chip_mut()
    }

    fn counters(&self) -> &Counters {
        (**self).counters()
    }

    fn logical_pages(&self) -> u32 {
        (**self).logical_pages()
    }

    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError> {
        (**self).fill(lpn, read_only, now)
    }

    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        (**self).filled(now)
    }

    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        (**self).write(lpn, data, now)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        (**self).read(lpn, into)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        (**self).trim(lpn, now)
    }

    fn mark_dead(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        (**self).mark_dead(lpn, now)
    }

    fn revive(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        (**self).revive(lpn, now)
    }

    fn dead_data(&self) -> Option<DeadDataCounters> {
        (**self).dead_data()
    }

    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        (**self).idle_step_ns(timing)
    }

    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        (**self).clean_in_idle_time(now)
    }

    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        (**self).scrub(now)
    }

    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        (**self).settle(now)
    }

    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        (**self).unmount(now)
    }

    fn free_blocks(&self) -> Option<u32> {
        (**self).free_blocks()
    }

    fn last_program(&self) -> u64 {
        (**self).last_program()
    }

    fn synced(&mut self, last_program: u64) {
        (**self).synced(last_program);
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        (**self).end_of_life()
    }

    fn spare_blocks(&self) -> Option<u32> {
        (**self).spare_blocks()
    }

    fn is_read_only(&self) -> bool {
        (**self).is_read_only()
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        (**self).choices()
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        (**self).locate(lpn)
    }

    fn erases(&self, block: BlockId) -> u32 {
        (**self).erases(block)
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        (**self).valid_pages(block)
    }

    fn prefetch(&self, lpn: Lpn) {
        (**self).prefetch(lpn);
    }

    fn prefetch_more(&self, lpn: Lpn) {
        (**self).prefetch_more(lpn);
    }

    fn check(&self) -> Result<(), String> {
        (**self).check()
    }
}
