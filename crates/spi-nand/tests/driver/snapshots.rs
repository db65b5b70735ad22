//! Power cuts in the midst of commands, on a chip that is large enough for snapshots of the tables.

use std::{cell::RefCell, rc::Rc};

use embedded_hal::spi::{ErrorType, Operation, SpiDevice};
use thermocline_embedded::{
    Config, Error, Ftl, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::{
    Chip, SpiNand,
    simulated::{PowerOff, Simulated, TORN, Torn, w25n01gv_spare},
};

use crate::small::SMALL;

const PAGE: usize = 1024;
const LOGICAL: u32 = 600;
static WIDE: [Chip; 1] = [Chip { blocks: 256, pages: 16, page_size: PAGE as u16, ..SMALL[0] }];

type Memory = Static<256, 4, 400, PAGE>;
type Store<'a> = Ftl<'a, SpiNand<Spy, Simulated>, Cat, Dac<2>>;

/// Notes how many bytes there were on the bus before each transaction.
#[derive(Clone)]
struct Spy(Simulated, Rc<RefCell<Vec<u64>>>);

impl ErrorType for Spy {
    type Error = PowerOff;
}

impl SpiDevice for Spy {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), PowerOff> {
        self.1.borrow_mut().push(self.0.bytes());
        self.0.transaction(operations)
    }
}

fn nand(spy: &Spy) -> Result<SpiNand<Spy, Simulated>, Error> {
    SpiNand::among(spy.clone(), spy.0.clone(), &WIDE).map_err(|_| Error::Device)
}

fn mount<'a>(spy: &Spy, memory: &'a mut Memory) -> Result<Store<'a>, Error> {
    Ftl::mount(nand(spy)?, memory.memory(), Cat::default(), Dac::<2>)
}

/// What is written in one life; each version is noted before.
fn life(store: &mut Store<'_>, versions: &mut [Vec<u8>], version: u8) -> Result<(), Error> {
    for lpn in [3, 4, 599, 3] {
        versions[lpn].push(version + lpn as u8 % 7);
        store.write(lpn as u32, &[version + lpn as u8 % 7; PAGE])?;
        versions[lpn].drain(..versions[lpn].len() - 1);
        if lpn == 4 {
            store.checkpoint()?;
        }
    }
    store.flush()
}

/// A store with snapshots, and versions that its pages may have.
fn prepared() -> (Simulated, Vec<Vec<u8>>) {
    let spy = Spy(Simulated::new(&WIDE[0], 64, w25n01gv_spare), Rc::default());
    let (mut memory, mut versions) = (Memory::new(), vec![vec![0]; LOGICAL as usize]);
    let config = Config { logical_pages: LOGICAL, spare_blocks: 1 };
    let mut store =
        Ftl::format(nand(&spy).expect("set up"), memory.memory(), Cat::default(), Dac, config)
            .expect("made");
    for round in 0..5 {
        life(&mut store, &mut versions, 1 + 10 * round).expect("written");
    }
    drop(store.into_nand());
    (spy.0, versions)
}

/// A life from a mount on, which is cut off somewhere.
fn live(spy: &Spy, versions: &mut [Vec<u8>], version: u8, what: &str) -> bool {
    let mut memory = Memory::new();
    let done = mount(spy, &mut memory).and_then(|mut store| life(&mut store, versions, version));
    assert!(matches!(done, Ok(()) | Err(Error::Device)), "{what}: {done:?}");
    done.is_ok()
}

/// All that was written is there.
fn verify(spy: &Spy, versions: &[Vec<u8>], what: &str) {
    spy.0.power_on();
    let mut memory = Memory::new();
    let mut store = mount(spy, &mut memory).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut page = [0; PAGE];
    for lpn in [0, 3, 4, 599] {
        store.read(lpn as u32, &mut page).unwrap_or_else(|e| panic!("{what}: {e}"));
        let is_there = versions[lpn].iter().any(|&version| page == [version; PAGE]);
        assert!(is_there, "{what}: page {lpn} holds {}, not {:?}", page[0], versions[lpn]);
    }
    assert_eq!(spy.0.broken(), None, "{what}");
}

#[test]
fn a_cut_before_and_in_any_command_of_a_life_with_snapshots_loses_nothing() {
    let (before, versions) = prepared();
    let spy = Spy(before.snapshot(), Rc::default());
    spy.0.power_on();
    let from = spy.0.bytes();
    assert!(live(&spy, &mut versions.clone(), 100, "uncut"));
    let ends = spy.1.take();
    println!("{} commands", ends.len());
    for end in ends {
        // Before its first byte, and before its last but one: what it is about is cut off while the chip is busy below.
        for bytes in [end - from, (end - from).saturating_sub(2)] {
            let (spy, mut versions) = (Spy(before.snapshot(), Rc::default()), versions.clone());
            spy.0.power_on();
            spy.0.cut_after(bytes, Torn::Undone);
            let what = format!("byte {bytes}");
            live(&spy, &mut versions, 100, &what);
            verify(&spy, &versions, &what);
        }
    }
}

#[test]
fn cuts_in_any_program_and_erase_of_three_lives_with_snapshots_lose_nothing() {
    let (before, versions) = prepared();
    for how in TORN {
        for (first, next) in (0..).map(|cut| (cut / 6, cut % 6)) {
            let (spy, mut versions) = (Spy(before.snapshot(), Rc::default()), versions.clone());
            let what = format!("{how:?} in operation {first}, then {next}");
            let mut is_over = false;
            for (cut, version) in [(first, 100), (next, 120), (next, 140)] {
                spy.0.power_on();
                spy.0.cut_in(cut, how);
                is_over |= live(&spy, &mut versions, version, &what) && version == 100;
            }
            verify(&spy, &versions, &what);
            if is_over {
                assert!(first > 8, "{what}");
                break;
            }
        }
    }
}
