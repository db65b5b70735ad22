//! Finding pages of which only the areas of other pages still tell: reading them is an error, whatever older copies there are.

use crate::{
    Before, Error, Ftl, Nand,
    cache::{LOST, NONE},
    policy::{Placement, Victim},
    survey::{Entry, Scan},
};

impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Finds them by what each program says of the one before.
    pub(crate) fn find_lost(&mut self, scan: &mut Scan) -> Result<(), Error> {
        if !scan.is_damaged {
            return Ok(());
        }
        self.each_witness(scan, |this, scan, before, sequence| match before {
            Before::Map(page) => this.lose_map_page(page, sequence, sequence, scan),
            _ => Ok(()),
        })?;
        if self.is_map_hurt {
            self.cache.clear();
            self.find_changes(scan)?;
        }
        if scan.is_full {
            // They are found with the changes of each page of the map.
            return Ok(());
        }
        self.note_map_numbers(scan)?;
        self.each_witness(scan, |this, scan, before, sequence| match before {
            Before::Data(lpn) if lpn < this.logical_pages => {
                this.consider_lost(lpn, sequence, scan)
            }
            _ => Ok(()),
        })?;
        scan.noted = 0;
        Ok(())
    }

    /// Tells what programs wrote, as those after them say, with their numbers.
    pub(crate) fn each_witness(
        &mut self,
        scan: &mut Scan,
        mut tell: impl FnMut(&mut Self, &mut Scan, Before, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for block in 0..self.shape.blocks {
            if !self.is_written(block)
                || (!scan.is_map_damaged || scan.is_tail)
                    && !self.ends_behind(block, self.horizon, scan)?
            {
                continue;
            }
            self.survey(block, scan, &mut |this, scan, _, entry| {
                let (Entry::Counts(area) | Entry::Never(area)) = entry else { return Ok(()) };
                let Some(before) = area.before else { return Ok(()) };
                tell(this, scan, before, area.sequence.saturating_sub(1))
            })?;
        }
        Ok(())
    }

    /// A logical page was written by that program: if nothing as new is known, it is lost.
    pub(crate) fn consider_lost(
        &mut self,
        lpn: u32,
        sequence: u64,
        scan: &mut Scan,
    ) -> Result<(), Error> {
        if sequence <= self.horizon.max(scan.floor) {
            return Ok(());
        }
        let page = lpn / self.entries();
        let map_page = self.directory[page as usize];
        let known = match self.cache.get(lpn) {
            Some(LOST..) => return Ok(()),
            Some(at) => self.sequence_of_known(at, scan)?,
            None => 0,
        };
        if known >= sequence
            || map_page == LOST
            || map_page != NONE && self.number_of_map_page(page, map_page, scan)? > sequence
        {
            return Ok(());
        }
        if self.cache.is_full() && self.cache.get(lpn).is_none() {
            scan.gives_up |= scan.is_tail;
            self.directory[page as usize] = LOST;
            self.is_map_hurt = true;
        } else {
            self.note(lpn, false, LOST);
            self.cache.set(lpn, LOST);
        }
        Ok(())
    }
}
