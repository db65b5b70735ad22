//! A history of all kinds of requests on a chip that keeps a record of what it is asked and what it answers.

use thermocline_embedded::{
    AREA, Config, Error, Geometry, NandError, Slots, Static,
    policy::{Cat, Dac},
};

use super::{Ftl, Nand, bisync, pause};
use crate::chip::{Chip, Draws};

const LOGICAL_PAGES: u32 = 150;

/// What a history left.
#[derive(Default)]
pub struct Record {
    /// Operations of the chip and answers of the layer, in order.
    pub log: Vec<String>,
    pub operations: usize,
    pub mounts: usize,
    pub refused: usize,
}

struct Recorded {
    chip: Chip,
    is_cached: bool,
    record: Record,
}

impl Recorded {
    fn operation(&mut self, what: String) {
        self.record.log.push(what);
        self.record.operations += 1;
    }

    fn answer<T: std::fmt::Debug>(&mut self, request: &str, done: Result<T, Error>) {
        self.record.refused += usize::from(done.is_err());
        self.record.log.push(format!("{request}: {done:?}"));
    }
}

/// Of bytes enough to tell them apart.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |sum: u64, &byte| sum.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte))
}

#[bisync]
impl Nand for &mut Recorded {
    fn geometry(&self) -> Geometry {
        self.chip.shape
    }

    async fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        pause().await;
        let done = thermocline_embedded::Nand::read(&mut self.chip, page, offset, into);
        self.operation(format!("read {page} {offset} {}: {done:?}", into.len()));
        pause().await;
        done
    }

    async fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        pause().await;
        let done = thermocline_embedded::Nand::read_area(&mut self.chip, page, into);
        self.operation(format!("area {page}: {done:?}"));
        pause().await;
        done
    }

    async fn program(
        &mut self,
        page: u32,
        data: &[u8],
        area: &[u8; AREA],
    ) -> Result<(), NandError> {
        pause().await;
        let done = thermocline_embedded::Nand::program(&mut self.chip, page, data, area);
        self.operation(format!("program {page} {:x} {:x}: {done:?}", sum(data), sum(area)));
        pause().await;
        done
    }

    async fn erase(&mut self, block: u32) -> Result<(), NandError> {
        pause().await;
        let done = thermocline_embedded::Nand::erase(&mut self.chip, block);
        self.operation(format!("erase {block}: {done:?}"));
        pause().await;
        done
    }

    async fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        pause().await;
        let done = thermocline_embedded::Nand::is_bad(&mut self.chip, block);
        self.operation(format!("is bad {block}: {done:?}"));
        pause().await;
        done
    }

    async fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        pause().await;
        let done = thermocline_embedded::Nand::mark_bad(&mut self.chip, block);
        self.operation(format!("mark {block}: {done:?}"));
        pause().await;
        done
    }

    fn corrected(&mut self) -> u32 {
        self.chip.draws.below(4)
    }

    fn refresh_from(&self) -> u32 {
        3
    }

    fn is_cached(&self) -> bool {
        self.is_cached
    }

    async fn sync(&mut self) -> Result<(), NandError> {
        pause().await;
        self.operation("sync".into());
        pause().await;
        Ok(())
    }
}

/// The history of a seed, to its end.
#[bisync]
pub async fn run(chip: Chip, seed: u64, is_cached: bool) -> Record {
    let mut nand = Recorded { chip, is_cached, record: Record::default() };
    let mut memory = Box::new(Static::<264, 8, 60, 256>::new());
    let mut counts = [0; 264];
    let config = Config { logical_pages: LOGICAL_PAGES, spare_blocks: 2 };
    let mut draws = Draws(!seed);
    let mut is_made = false;
    for _ in 0..8 {
        nand.chip.begun();
        nand.chip.power_on(if draws.once_in(3) { u32::MAX } else { draws.below(120) });
        nand.record.mounts += 1;
        let made = if is_made && !draws.once_in(12) {
            Ftl::mount(&mut nand, memory.memory(), Cat::default(), Dac::<3>).await
        } else {
            Ftl::format(&mut nand, memory.memory(), Cat::default(), Dac::<3>, config).await
        };
        let mut ftl = match made {
            Ok(ftl) => ftl,
            Err(e) => {
                nand.answer::<()>("mount", Err(e));
                continue;
            }
        };
        is_made = true;
        if draws.once_in(2) {
            ftl.count_reads(Slots::from(&mut counts), 50);
        }
        requests(&mut ftl, &mut draws).await;
    }
    nand.record
}

#[bisync]
async fn requests(ftl: &mut Ftl<'_, &mut Recorded, Cat, Dac<3>>, draws: &mut Draws) {
    let mut page = [0; 256];
    for _ in 0..100 {
        ftl.nand_mut().chip.called();
        let among = if draws.once_in(3) { LOGICAL_PAGES } else { LOGICAL_PAGES / 8 };
        let lpn = draws.below(among);
        let data = [draws.next() as u8; 256];
        let (name, done) = match draws.below(40) {
            0..18 => ("write", ftl.write(lpn, &data).await.map(|()| 0)),
            18..24 => ("read", ftl.read(lpn, &mut page).await.map(|_| sum(&page))),
            24..28 => ("trim", ftl.trim(lpn).await.map(u64::from)),
            28..31 => ("flush", ftl.flush().await.map(|()| 0)),
            31 => ("checkpoint", ftl.checkpoint().await.map(|()| 0)),
            32 => ("clean", ftl.clean(draws.below(40)).await.map(u64::from)),
            33 => ("scrub", ftl.scrub(draws.below(40)).await.map(u64::from)),
            34 => ("sweep", ftl.sweep_ahead(draws.below(4)).await.map(|()| 0)),
            35 => ("map page", ftl.write_next_map_page().await.map(|()| 0)),
            36 => {
                let mut mapped = 0;
                let done = ftl
                    .each_mapped(|lpn, at| {
                        mapped = sum(&[lpn, at, mapped as u32].map(|word| word as u8))
                    })
                    .await;
                ("mapped", done.map(|()| mapped))
            }
            37 => {
                let mut lost = 0;
                ("lost", ftl.each_lost(|lpn| lost += u64::from(lpn)).await.map(|()| lost))
            }
            38 if draws.once_in(4) => ("remount", ftl.remount().await.map(|()| 0)),
            _ => {
                let (at, mut bytes) = (draws.below(LOGICAL_PAGES * 250), [5; 300]);
                if draws.once_in(2) {
                    ("write at", ftl.write_at(at.into(), &bytes, &mut page).await.map(|()| 0))
                } else {
                    let done = ftl.read_at(at.into(), &mut bytes, &mut page).await;
                    ("read at", done.map(|()| sum(&bytes)))
                }
            }
        };
        let counters = *ftl.counters();
        ftl.nand_mut().answer(name, done);
        ftl.nand_mut().record.log.push(format!("{counters:?}"));
        if ftl.nand().chip.is_off() {
            break;
        }
    }
}
