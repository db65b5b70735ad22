//! Finding pages of which only the areas of other pages still tell: reading them is an error, whatever older copies there are.

use super::{
    Before, Error, Ftl, Nand, bisync,
    cache::{LOST, NONE},
    policy::{Placement, Victim},
    survey::{Entry, Scan, Survey},
};

/// A look at what programs say of the ones before them, block by block.
pub(crate) struct Witnesses {
    next: u32,
    survey: Survey,
    /// What a program wrote, and its number.
    pub(crate) before: Option<Before>,
    pub(crate) sequence: u64,
}

impl Witnesses {
    pub(crate) const fn new() -> Self {
        Self { next: 0, survey: Survey::over(), before: None, sequence: 0 }
    }
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Finds them by what each program says of the one before.
    #[inline(never)]
    pub(crate) async fn find_lost(&mut self, scan: &mut Scan) -> Result<(), Error> {
        if !scan.is_damaged {
            return Ok(());
        }
        let mut witnesses = Witnesses::new();
        while self.witness(&mut witnesses, scan).await? {
            let Witnesses { before, sequence, .. } = witnesses;
            if let Some(Before::Map(page)) = before {
                self.lose_map_page(page, sequence, sequence, scan).await?;
            }
        }
        if self.is_map_hurt {
            self.cache.clear();
            self.find_changes(scan).await?;
        }
        if scan.is_full {
            // They are found with the changes of each page of the map.
            return Ok(());
        }
        self.note_map_numbers(scan).await?;
        let mut witnesses = Witnesses::new();
        while self.witness(&mut witnesses, scan).await? {
            let Witnesses { before, sequence, .. } = witnesses;
            if let Some(Before::Data(lpn)) = before
                && lpn < self.logical_pages
            {
                self.consider_lost(lpn, sequence, scan).await?;
            }
        }
        scan.noted = 0;
        Ok(())
    }

    /// Looks for the next program that says what the one before it wrote; false when there is none left.
    pub(crate) async fn witness(
        &mut self,
        witnesses: &mut Witnesses,
        scan: &mut Scan,
    ) -> Result<bool, Error> {
        loop {
            while self.surveyed(&mut witnesses.survey, scan).await? {
                let (Entry::Counts(area) | Entry::Never(area)) = &witnesses.survey.entry else {
                    continue;
                };
                if area.before.is_some() {
                    (witnesses.before, witnesses.sequence) =
                        (area.before, area.sequence.saturating_sub(1));
                    return Ok(true);
                }
            }
            let block = witnesses.next;
            if block >= self.shape.blocks {
                return Ok(false);
            }
            witnesses.next += 1;
            if self.is_written(block)
                && (scan.is_map_damaged && !scan.is_tail
                    || self.ends_behind(block, self.horizon, scan).await?)
            {
                witnesses.survey = Survey::of(block);
            }
        }
    }

    /// A logical page was written by that program: if nothing as new is known, it is lost.
    pub(crate) async fn consider_lost(
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
            Some(at) => self.sequence_of_known(at, scan).await?,
            None => 0,
        };
        if known >= sequence
            || map_page == LOST
            || map_page != NONE && self.number_of_map_page(page, map_page, scan).await? > sequence
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
