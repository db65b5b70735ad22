//! Making a store. A format that is cut off leaves the store that was there, or none.

use super::{
    Area, Config, Content, Error, Found, Ftl, Memory, Nand, NandError, Part, bisync,
    blocks::State,
    config::most_logical_pages,
    error::device,
    log::NOWHERE,
    policy::{Placement, Victim},
    snapshot::{self, LEAST_BLOCKS, Snapshots, kept_blocks},
};

/// The page of the map that says that a format has begun and has not ended.
pub(crate) const BEGUN: u32 = 0xff_ffff;

/// The block that says that a format has begun.
#[derive(Clone, Copy)]
enum Choice {
    Blank,
    Open,
    Any,
}

#[bisync]
impl<'a, N: Nand, V: Victim, P: Placement> Ftl<'a, N, V, P> {
    /// Makes an empty store: erases all good blocks, so what the chip holds is lost.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Memory`], [`Error::TooLarge`], [`Error::Device`].
    pub async fn format(
        nand: N,
        memory: Memory<'a>,
        victim: V,
        placement: P,
        config: Config,
    ) -> Result<Self, Error> {
        let mut ftl = Self::unmounted(nand, memory, victim, placement)?;
        ftl.reformat(config).await?;
        Ok(ftl)
    }

    /// Makes the store empty, and erases all good blocks.
    ///
    /// # Errors
    /// Those of [`format`](Self::format). What is refused for the size or the memory leaves chip and store as they were; after
    /// any other error nothing of the store can be used.
    pub async fn reformat(&mut self, config: Config) -> Result<(), Error> {
        self.enter();
        let done = self.format_entered(config).await;
        self.exit();
        done
    }

    async fn format_entered(&mut self, config: Config) -> Result<(), Error> {
        let mut bad = 0;
        for block in 0..self.shape.blocks {
            bad += u32::from(self.nand.is_bad(block).await.map_err(device)?);
        }
        self.check_size(&config, bad)?;
        let with_snapshots = bad.saturating_add(kept_blocks(&self.shape));
        let keeps_snapshots = self.takes_snapshots()
            && snapshot::fits(&self.shape, config.logical_pages)
            && self.check_size(&config, with_snapshots).is_ok();
        self.forget();
        (self.is_mounted, self.mounted_pages) = (false, 0);
        self.snapshots = Snapshots::NONE;
        self.void_snapshots().await?;
        let void = self.snapshots.block;
        let mark = self.mark_entered().await?;
        for block in (0..self.shape.blocks).filter(|&block| block != mark && block != void) {
            let is_kept = keeps_snapshots && block < kept_blocks(&self.shape);
            if self.nand.is_bad(block).await.map_err(device)? {
                if is_kept {
                    self.blocks[block as usize].retire();
                }
                continue;
            }
            match self.nand.erase(block).await {
                Ok(()) if is_kept => {}
                Ok(()) => {
                    self.blocks[block as usize].set_state(State::Erased);
                    self.free += 1;
                }
                Err(NandError::Device) => return Err(Error::Device),
                Err(_) => self.nand.mark_bad(block).await.map_err(device)?,
            }
        }
        if !keeps_snapshots && void != NOWHERE {
            self.erase(void).await?;
            self.snapshots = Snapshots::NONE;
        }
        self.snapshots.blocks = if keeps_snapshots { kept_blocks(&self.shape) } else { 0 };
        let good = self.blocks.iter().filter(|block| block.state() != State::Bad).count() as u32;
        self.check_size(&config, self.shape.blocks.saturating_sub(good))?;
        self.set_size(config.logical_pages)?;
        self.spare_blocks = config.spare_blocks;
        self.write_map_page(0).await?;
        self.nand.sync().await.map_err(device)?;
        self.erase(mark).await?;
        (self.is_mounted, self.mounted_pages) = (true, config.logical_pages);
        self.nand.sync().await.map_err(device)?;
        self.save_all().await
    }

    /// Before anything is erased: no mount takes a snapshot of what was on the chip, whatever is left of it.
    async fn void_snapshots(&mut self) -> Result<(), Error> {
        self.find_snapshots().await?;
        self.leave_touched_page().await?;
        // A block that is newer than all of these is not erased any more.
        if self.snapshots.number > 0 && !self.open_snapshot_block(0).await? {
            self.outdate_snapshot().await?;
        }
        Ok(())
    }

    /// Says on the chip that a format has begun: from then on, until the mark is erased, no mount finds a store. It takes a
    /// block that holds nothing, or the end of one that was not written so far, so that what was there before is whole or is
    /// nothing.
    async fn mark_entered(&mut self) -> Result<u32, Error> {
        let area = Area {
            content: Content::Map,
            erases: 0,
            number: BEGUN,
            after: None,
            sequence: 0,
            before: None,
            void: 0,
            ones: false,
        };
        self.buffer.fill(0);
        for choice in [Choice::Blank, Choice::Open, Choice::Any] {
            for block in self.first_of_log()..self.shape.blocks {
                let (first, last) = (block * self.shape.pages, (block + 1) * self.shape.pages - 1);
                if self.nand.is_bad(block).await.map_err(device)? {
                    continue;
                }
                let marked = match choice {
                    Choice::Blank if self.area(first).await? != Found::Blank => continue,
                    Choice::Open => {
                        let is_open = !self.nand.is_cached()
                            && self.area(last).await? == Found::Blank
                            && self.area(last - 1).await? == Found::Blank
                            && self.is_untouched(last).await?;
                        self.buffer.fill(0);
                        if !is_open {
                            continue;
                        }
                        self.nand.program(last, &self.buffer, &area.encode()).await
                    }
                    Choice::Blank | Choice::Any => match self.nand.erase(block).await {
                        Ok(()) => self.nand.program(first, &self.buffer, &area.encode()).await,
                        failed => failed,
                    },
                };
                match marked {
                    Ok(()) => {
                        self.blocks[block as usize].set_state(State::Kept);
                        self.nand.sync().await.map_err(device)?;
                        return Ok(block);
                    }
                    Err(NandError::Device) => return Err(Error::Device),
                    Err(_) => self.nand.mark_bad(block).await.map_err(device)?,
                }
            }
        }
        Err(Error::WornOut)
    }

    /// The first block that is never kept for snapshots.
    const fn first_of_log(&self) -> u32 {
        if self.shape.blocks < LEAST_BLOCKS { 0 } else { kept_blocks(&self.shape) }
    }

    /// Whether a store finds room beside so many bad blocks, as many more of which may go bad as it says.
    fn check_size(&self, config: &Config, bad: u32) -> Result<(), Error> {
        let streams = self.placement.streams();
        let most =
            most_logical_pages(&self.shape, bad.saturating_add(config.spare_blocks), streams);
        if config.logical_pages == 0 || config.logical_pages > most {
            return Err(Error::TooLarge(most));
        }
        self.check_memory(config.logical_pages)
    }

    pub(crate) fn check_memory(&self, logical_pages: u32) -> Result<(), Error> {
        let pages = logical_pages.div_ceil(self.entries()) as usize;
        if self.directory.len() < pages {
            return Err(Error::Memory(Part::Directory));
        }
        if self.cache.slots() < 2 * pages {
            return Err(Error::Memory(Part::Changes));
        }
        Ok(())
    }
}
