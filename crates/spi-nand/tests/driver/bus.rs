//! What goes over the bus, and what a bus can do to the driver.

use std::{cell::RefCell, rc::Rc};

use embedded_hal::{
    delay::DelayNs,
    spi::{ErrorType, Operation, SpiDevice},
};
use thermocline_embedded::{
    AREA, Config, Ftl, Nand, NandError, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::{
    SetupError, SpiNand, chips,
    simulated::{PowerOff, Simulated},
};

/// What went over the bus: bytes to the chip (a page as its length), and how many came back.
type Log = Rc<RefCell<Vec<String>>>;

struct Spy(Simulated, Log);

impl ErrorType for Spy {
    type Error = PowerOff;
}

impl SpiDevice for Spy {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), PowerOff> {
        let mut words: Vec<String> = Vec::new();
        for operation in operations.iter() {
            match operation {
                Operation::Write(out) if out.len() > 16 => words.push(format!("{} out", out.len())),
                Operation::Write(out) => words.extend(out.iter().map(|byte| format!("{byte:02x}"))),
                Operation::Read(into) => words.push(format!("{} in", into.len())),
                _ => words.push("?".into()),
            }
        }
        self.1.borrow_mut().push(words.join(" "));
        self.0.transaction(operations)
    }
}

/// What was said since the last time, without looks at a chip that is busy: of several in a row the last one.
fn said(log: &Log) -> Vec<String> {
    let mut said: Vec<String> = log.borrow_mut().drain(..).collect();
    said.dedup_by(|a, b| a == b && a == "0f c0 1 in");
    said
}

#[test]
fn commands_are_those_of_the_data_sheet() {
    let chip = Simulated::w25n01gv();
    let log = Log::default();
    let mut nand = SpiNand::new(Spy(chip.clone(), log.clone()), chip.clone()).expect("it works");
    assert_eq!(
        said(&log),
        [
            "ff",         // reset
            "0f c0 1 in", // until it is ready
            "9f 00 4 in", // who are you, with a dummy byte
            "9f 4 in",    // and without
            "0f b0 1 in", // configuration: the error correction on, one page a read
            "1f b0 18",
            "1f a0 00", // no block is protected
            "0f b0 1 in",
            "0f a0 1 in",
        ]
    );
    let (mut page, mut area) = ([0; 2048], [0; AREA]);
    let sixteen: [u8; AREA] = std::array::from_fn(|i| i as u8);
    // Page 0x10203 of the chip would be beyond it; page 3 of block 0x102 is 0x4083.
    nand.program(0x4083, &[0x55; 2048], &sixteen).expect("it works");
    assert_eq!(
        said(&log),
        [
            "06",
            "0f c0 1 in", // it heard it
            "02 00 00 2048 out",
            "84 08 04 00 01 02 03", // bytes 4 to 7 of each section of 16 behind the page
            "84 08 14 04 05 06 07",
            "84 08 24 08 09 0a 0b",
            "84 08 34 0c 0d 0e 0f",
            "10 00 40 83",
            "0f c0 1 in",
            "0f a0 1 in", // it had power all the time
        ]
    );
    nand.read(0x4083, 5, &mut page[..3]).expect("it works");
    nand.read_area(0x4083, &mut area).expect("it works");
    assert_eq!((page[0], area), (0x55, sixteen));
    // One load for both.
    assert_eq!(
        said(&log),
        [
            "13 00 40 83",
            "0f c0 1 in",
            "03 00 05 00 3 in",
            "0f a0 1 in",
            "03 08 04 00 52 in",
            "0f a0 1 in",
        ]
    );
    nand.copy(0x4083, 0x4084, &[9; AREA], &mut page).expect("it works");
    assert_eq!(
        said(&log),
        [
            // The page is in the register, and stays there.
            "06",
            "0f c0 1 in",
            "84 08 04 09 09 09 09",
            "84 08 14 09 09 09 09",
            "84 08 24 09 09 09 09",
            "84 08 34 09 09 09 09",
            "10 00 40 84",
            "0f c0 1 in",
            "0f a0 1 in",
        ]
    );
    nand.read(0x4084, 0, &mut page).expect("it works");
    nand.read_area(0x4084, &mut area).expect("it works");
    assert_eq!((page, area), ([0x55; 2048], [9; AREA]));
    said(&log);
    assert_eq!(nand.is_bad(0x102), Ok(false));
    assert_eq!(said(&log), ["13 00 40 80", "0f c0 1 in", "03 08 00 00 1 in", "0f a0 1 in"]);
    nand.erase(0x102).expect("it works");
    assert_eq!(said(&log), ["06", "0f c0 1 in", "d8 00 40 80", "0f c0 1 in", "0f a0 1 in"]);
    nand.mark_bad(0x102).expect("it works");
    assert_eq!(
        said(&log),
        ["06", "0f c0 1 in", "02 08 00 00", "10 00 40 80", "0f c0 1 in", "0f a0 1 in"]
    );
    assert_eq!(nand.is_bad(0x102), Ok(true));
    assert_eq!(chip.broken(), None);
}

#[test]
fn a_parameter_page_is_read_from_its_second_copy() {
    let (bus, delay) = Simulated::w25n01gv().into_bus();
    let mut nand = SpiNand::new(bus, delay).expect("it works");
    let page = [1; 2048];
    nand.program(0, &page, &[2; AREA]).expect("it works");
    let told = nand.parameters().expect("it works").expect("it works");
    assert_eq!(&told.maker, b"WINBOND     ");
    assert_eq!(&told.model[..8], b"W25N01GV");
    assert_eq!((told.page_size, told.spare_size, told.pages, told.blocks), (2048, 64, 64, 1024));
    assert_eq!((told.units, told.ecc_bits), (1, 1));
    // The chip reads pages again.
    let mut read = [0; 2048];
    nand.read(0, 0, &mut read).expect("it works");
    assert_eq!(read, page);
}

#[test]
fn a_chip_that_lost_its_power_alone_costs_no_block() {
    let chip = Simulated::w25n01gv();
    let (bus, delay) = chip.clone().into_bus();
    let mut nand = SpiNand::new(bus, delay).expect("it works");
    for operation in [
        |nand: &mut SpiNand<_, _>| nand.program(64, &[7; 2048], &[3; AREA]),
        |nand: &mut SpiNand<_, _>| nand.erase(1),
    ] {
        chip.brown_out();
        // The chip protects all blocks now and says that it failed. The block did not.
        assert_eq!(operation(&mut nand), Err(NandError::Device));
        assert_eq!(operation(&mut nand), Ok(()));
    }
    chip.fail(1);
    assert_eq!(nand.erase(1), Err(NandError::Failed));
    assert_eq!(nand.program(64, &[7; 2048], &[3; AREA]), Err(NandError::Failed));
}

#[test]
fn marks_of_the_maker_are_seen_and_one_turned_bit_is_none() {
    let chip = Simulated::w25n01gv();
    let (bus, delay) = chip.clone().into_bus();
    let mut nand = SpiNand::new(bus, delay).expect("it works");
    chip.mark(17);
    chip.turn(18 * 64, 2048, 3);
    assert_eq!([16, 17, 18].map(|block| nand.is_bad(block)), [Ok(false), Ok(true), Ok(false)]);
}

#[test]
fn a_page_that_cannot_be_corrected_is_never_blank() {
    let chip = Simulated::w25n01gv();
    let (bus, delay) = chip.clone().into_bus();
    let mut nand = SpiNand::new(bus, delay).expect("it works");
    let mut area = [0; AREA];
    assert_eq!((nand.read_area(5, &mut area), area), (Ok(()), [0xff; AREA]));
    // A program that was cut off at its very beginning.
    chip.turn(5, 100, 0);
    chip.turn(5, 200, 0);
    nand.read_area(6, &mut area).expect("it works");
    assert_eq!(nand.read_area(5, &mut area), Err(NandError::Unreadable));
}

#[test]
fn pages_that_the_chip_corrects_much_are_moved() {
    let chip = Simulated::w25n01gv();
    let (bus, delay) = chip.clone().into_bus();
    let nand = SpiNand::new(bus, delay).expect("it works");
    let mut memory = Static::<1024, 86, 300, 2048>::new();
    let config = Config { logical_pages: 1000, ..Config::default() };
    let mut store =
        Ftl::format(nand, memory.memory(), Cat::default(), Dac::<3>, config).expect("it works");
    store.write(3, &[5; 2048]).expect("it works");
    let mut at = 0;
    store.each_mapped(|_, page| at = page).expect("it works");
    let mut page = [0; 2048];
    store.read(3, &mut page).expect("it works");
    assert_eq!(store.counters().refreshed, 0);
    chip.turn(at, 100, 0);
    store.write(4, &[6; 2048]).expect("it works"); // another page is in the register
    store.read(3, &mut page).expect("it works");
    assert_eq!((page, store.counters().refreshed), ([5; 2048], 1));
    // Two bits of a sector are more than the chip corrects, but of the page that was left.
    chip.turn(at, 101, 0);
    store.write(4, &[6; 2048]).expect("it works");
    assert_eq!(store.read(3, &mut page), Ok(true));
}

#[test]
fn a_block_that_fails_is_left_and_marked_and_its_pages_stay() {
    let chip = Simulated::w25n01gv();
    let (bus, delay) = chip.clone().into_bus();
    let nand = SpiNand::new(bus, delay).expect("it works");
    let mut memory = Static::<1024, 86, 300, 2048>::new();
    let config = Config { logical_pages: 1000, ..Config::default() };
    let mut store =
        Ftl::format(nand, memory.memory(), Cat::default(), Dac::<3>, config).expect("made");
    let page_of = |lpn: u32| [lpn as u8 ^ 0x5a; 2048];
    let mut failed = 0;
    for lpn in 0..400 {
        store.write(lpn, &page_of(lpn)).expect("written");
        if lpn == 100 {
            store
                .each_mapped(|other, at| failed = if other == lpn { at / 64 } else { failed })
                .expect("read");
            chip.fail(failed);
        }
    }
    assert_eq!(store.health().bad_blocks, 1);
    store.flush().expect("written");
    let mut read = [0; 2048];
    for lpn in 0..400 {
        assert_eq!((store.read(lpn, &mut read), read == page_of(lpn)), (Ok(true), true), "{lpn}");
    }
    for i in 0..6_000 {
        store.write(i % 900, &page_of(i % 900)).expect("written");
    }
    let health = store.health();
    assert_eq!((health.bad_blocks, health.lost), (1, 0));
    // A mark is a program, which the block refuses; no other one is marked.
    let nand = store.nand_mut();
    assert!((0..1024).all(|block| nand.is_bad(block) == Ok(false) || block == failed));
    assert_eq!(chip.broken(), None);
}

/// A bus on which anything may be said.
struct Noise(u32);

impl Noise {
    fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        // Often ready, often as it was set.
        match self.0 >> 28 {
            0..6 => 0,
            6..9 => 0x02,
            9 => 0x18,
            10 => 0xff,
            _ => self.0 as u8,
        }
    }
}

impl ErrorType for Noise {
    type Error = PowerOff;
}

impl SpiDevice for Noise {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), PowerOff> {
        for operation in operations {
            if let Operation::Read(into) = operation {
                into.iter_mut().for_each(|byte| *byte = self.byte());
            }
        }
        if self.byte() == 0x77 { Err(PowerOff) } else { Ok(()) }
    }
}

#[derive(Default)]
struct Waits(u64);

impl DelayNs for Waits {
    fn delay_ns(&mut self, ns: u32) {
        self.0 += u64::from(ns);
    }
}

/// A W25N01GV's row in the table, whatever the chip says.
static ANY: &[chips::Chip] = &[chips::Chip { id: chips::Id::AfterDummy(&[]), ..chips::W25N01GV }];

#[test]
fn no_answer_of_a_chip_makes_the_driver_panic_or_wait_for_ever() {
    let mut memory = Static::<1024, 86, 300, 2048>::new();
    let (mut page, mut area, mut met) = ([0; 2048], [0; AREA], 0);
    for seed in 1..20_000 {
        let Ok(mut nand) = SpiNand::among(Noise(seed), Waits::default(), ANY) else { continue };
        met += 1;
        let _ = nand.parameters();
        for i in 0..40 {
            let at = i * 1619;
            let _ = nand.read(at, i * 60, &mut page);
            let _ = nand.read_area(at, &mut area);
            let _ = nand.program(at, &page, &area);
            let _ = nand.copy(at, at + 1, &area, &mut page);
            let _ = nand.erase(i * 27);
            let _ = nand.is_bad(i * 27);
            let _ = nand.mark_bad(u32::MAX / (i + 1));
        }
        if met < 20 {
            let _ = Ftl::mount(&mut nand, memory.memory(), Cat::default(), Dac::<3>);
        }
        assert!(nand.release().1.0 < 3_000_000_000_000, "it waits and waits");
    }
    assert!(met > 50, "{met} chips were set up");
}

/// All lines are high, or low.
struct Nothing(u8);

impl ErrorType for Nothing {
    type Error = PowerOff;
}

impl SpiDevice for Nothing {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), PowerOff> {
        for operation in operations {
            if let Operation::Read(into) = operation {
                into.fill(self.0);
            }
        }
        Ok(())
    }
}

#[test]
fn a_bus_without_a_chip_says_so_and_an_unknown_chip_what_it_answers() {
    for line in [0, 0xff] {
        let refused = SpiNand::new(Nothing(line), Waits::default());
        assert_eq!(refused.err(), Some(SetupError::NoAnswer));
    }
    let chip = Simulated::w25n01gv();
    static OTHERS: &[chips::Chip] =
        &[chips::Chip { id: chips::Id::AfterDummy(&[0xef, 0xaa, 0x22]), ..chips::W25N01GV }];
    let refused =
        SpiNand::among(chip.clone(), chip.clone(), OTHERS).expect_err("its row is missing");
    assert_eq!(refused, SetupError::Unknown([0xef, 0xaa, 0x21, 0xff], [0xff, 0xef, 0xaa, 0x21]));
    assert!(refused.to_string().contains("[ef, aa, 21, ff]"), "{refused}");
}

#[test]
fn nothing_reaches_beyond_the_chip() {
    let (bus, delay) = Simulated::w25n01gv().into_bus();
    let mut nand = SpiNand::new(bus, delay).expect("it works");
    let (mut page, device) = ([0; 2048], Err(NandError::Device));
    assert_eq!(nand.read(65_536, 0, &mut page), device);
    assert_eq!(nand.read(0, 1, &mut page), device);
    assert_eq!(nand.read(0, u32::MAX, &mut page[..1]), device);
    assert_eq!(nand.read_area(u32::MAX, &mut [0; AREA]), device);
    assert_eq!(nand.program(65_536, &page, &[0; AREA]), device);
    assert_eq!(nand.erase(1024), device);
    assert_eq!(nand.erase(u32::MAX), device);
    assert_eq!(nand.mark_bad(1024), device);
    assert_eq!(nand.copy(0, 65_536, &[0; AREA], &mut page), device);
}
