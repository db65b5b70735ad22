//! The driver, and a store on it, on a bus that keeps a record.

use std::{cell::RefCell, rc::Rc};

use thermocline_embedded::{
    AREA, Config, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::simulated::{PowerOff, Simulated, TORN};

use super::{
    Ftl, Nand, SpiNand, bisync,
    hal::spi::{ErrorType, Operation, SpiDevice},
};
use crate::{Draws, PAGE, SMALL};

type Log = Rc<RefCell<Vec<String>>>;

struct Spy(Simulated, Log);

impl ErrorType for Spy {
    type Error = PowerOff;
}

#[bisync]
impl SpiDevice for Spy {
    async fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), PowerOff> {
        let said = format!("{operations:02x?}");
        let done = SpiDevice::transaction(&mut self.0, operations).await;
        self.1.borrow_mut().push(format!("{said} {operations:02x?} {done:?}"));
        done
    }
}

/// What went over the bus, and what was answered.
#[bisync]
pub async fn run(chip: Simulated, seed: u32) -> Vec<String> {
    let log = Log::default();
    let mut draws = Draws(seed);
    alone(&chip, &log).await;
    chip.fail(5 + seed % 8);
    let mut memory = Static::<24, 5, 14, PAGE>::new();
    for mount in 0..6 {
        chip.power_on();
        let spy = Spy(chip.clone(), log.clone());
        let Ok(nand) = SpiNand::among(spy, chip.clone(), &SMALL).await else { continue };
        let (victim, placement) = (Cat::default(), Dac::<2>);
        let made = if mount == 0 {
            let config = Config { logical_pages: 60, spare_blocks: 2 };
            Ftl::format(nand, memory.memory(), victim, placement, config).await
        } else {
            Ftl::mount(nand, memory.memory(), victim, placement).await
        };
        let mut store = match made {
            Ok(store) => store,
            Err(e) => {
                log.borrow_mut().push(format!("{e:?}"));
                continue;
            }
        };
        let after = u64::from(draws.below(60_000));
        let torn = TORN[draws.below(TORN.len() as u32) as usize];
        if draws.below(2) == 0 {
            chip.cut_after(after, torn)
        } else {
            chip.brown_out_after(after, torn)
        }
        for _ in 0..80 {
            let lpn = draws.below(60);
            let mut page = [0; PAGE];
            let answer = match draws.below(12) {
                0 => format!("{:?}", store.trim(lpn).await),
                1 => format!("{:?}", store.flush().await),
                2 => format!("{:?} {page:02x?}", store.read(lpn, &mut page).await),
                3 => format!("{:?}", store.scrub(5).await),
                _ => format!("{:?}", store.write(lpn, &[draws.below(256) as u8; PAGE]).await),
            };
            log.borrow_mut().push(answer);
        }
    }
    log.take()
}

/// The driver without the layer.
#[bisync]
async fn alone(chip: &Simulated, log: &Log) {
    let spy = Spy(chip.clone(), log.clone());
    let mut nand = SpiNand::among(spy, chip.clone(), &SMALL).await.expect("it works");
    let (mut page, mut area) = ([0; PAGE], [0; AREA]);
    let mut answers = vec![
        format!("{:?}", nand.parameters().await),
        format!("{:?}", nand.program(17, &[0x55; PAGE], &[7; AREA]).await),
        format!("{:?}", nand.copy(17, 18, &[8; AREA], &mut page).await),
        format!("{:?}", nand.program(400, &page, &[7; AREA]).await),
    ];
    chip.turn(18, 3, 1);
    answers.extend([
        format!("{:?}", nand.read(18, 1, &mut page[..9]).await),
        format!("{:?}", nand.read_area(18, &mut area).await),
        format!("{} {page:?} {area:?}", nand.corrected()),
        format!("{:?}", nand.is_bad(2).await),
        format!("{:?}", nand.erase(2).await),
        format!("{:?}", nand.mark_bad(23).await),
        format!("{:?}", nand.is_bad(23).await),
    ]);
    log.borrow_mut().append(&mut answers);
}
