//! Power cuts at every byte on the bus, through the layer, the driver and the chip.

use thermocline_embedded::{
    Config, Error, Ftl, Nand, NandError, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::{
    SpiNand,
    simulated::{Simulated, TORN, Torn, w25n01gv_spare},
};

use crate::small::{PAGE, SMALL};

const LOGICAL: usize = 60;

type Memory = Static<24, 5, 14, PAGE>;
type Store<'a> = Ftl<'a, SpiNand<Simulated, Simulated>, Cat, Dac<2>>;

/// Versions that a logical page may hold; the last is what was written last.
type Expected = Vec<Vec<u32>>;

fn content(lpn: usize, version: u32) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    if version > 0 {
        for (i, word) in page.chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&(version ^ (lpn as u32) << 20 ^ (i as u32) << 28).to_le_bytes());
        }
    }
    page
}

fn mount<'a>(chip: &Simulated, memory: &'a mut Memory) -> Result<Store<'a>, Error> {
    let nand = SpiNand::among(chip.clone(), chip.clone(), &SMALL).map_err(|_| Error::Device)?;
    Ftl::mount(nand, memory.memory(), Cat::default(), Dac::<2>)
}

struct Draws(u32);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % bound
    }
}

/// So many requests; what pages may hold is noted before each.
fn requests(
    store: &mut Store<'_>,
    expected: &mut Expected,
    draws: &mut Draws,
    version: &mut u32,
    count: usize,
) -> Result<(), Error> {
    for _ in 0..count {
        let lpn = if draws.below(3) == 0 { draws.below(LOGICAL) } else { draws.below(LOGICAL / 6) };
        match draws.below(12) {
            0 => {
                expected[lpn].push(0);
                store.trim(lpn as u32)?;
            }
            1 => {
                store.flush()?;
                expected.iter_mut().for_each(|all| drop(all.drain(..all.len() - 1)));
            }
            _ => {
                *version += 1;
                expected[lpn].push(*version);
                store.write(lpn as u32, &content(lpn, *version))?;
                expected[lpn] = vec![*version];
            }
        }
    }
    Ok(())
}

fn verify(store: &mut Store<'_>, expected: &Expected, what: &str) {
    let mut page = [0; PAGE];
    for (lpn, versions) in expected.iter().enumerate() {
        store.read(lpn as u32, &mut page).unwrap_or_else(|e| panic!("{what}: {e}"));
        let is_there = versions.iter().any(|version| page == content(lpn, *version));
        assert!(is_there, "{what}: page {lpn} holds none of {versions:?}");
    }
}

/// A chip on which blocks are cleaned all the time.
fn prepared(seed: u32) -> (Simulated, Expected, u32) {
    let chip = Simulated::new(&SMALL[0], 64, w25n01gv_spare);
    let (mut memory, mut version) = (Memory::new(), 0);
    let config = Config { logical_pages: LOGICAL as u32, spare_blocks: 1 };
    let nand = SpiNand::among(chip.clone(), chip.clone(), &SMALL).expect("it works");
    let mut store =
        Ftl::format(nand, memory.memory(), Cat::default(), Dac::<2>, config).expect("it works");
    let mut expected = vec![vec![0]; LOGICAL];
    requests(&mut store, &mut expected, &mut Draws(seed), &mut version, 400).expect("it works");
    store.flush().expect("it works");
    expected.iter_mut().for_each(|all| drop(all.drain(..all.len() - 1)));
    drop(store);
    assert_eq!(chip.broken(), None);
    (chip, expected, version)
}

#[test]
fn a_cut_at_any_byte_loses_nothing_that_was_written() {
    let (mut cuts, mut torn, mut followed) = (0, 0, 0);
    for seed in [1, 2] {
        let (before, expected, version) = prepared(seed);
        // Without a cut, to know how many bytes there are.
        let history = |cut: Option<(u64, Torn)>| {
            let chip = before.snapshot();
            chip.power_on();
            let from = chip.bytes();
            if let Some((byte, torn)) = cut {
                chip.cut_after(byte, torn);
            }
            let (mut memory, mut expected) = (Memory::new(), expected.clone());
            let (mut draws, mut version) = (Draws(seed ^ 77), version);
            let mut mounted = 0;
            let done = mount(&chip, &mut memory).and_then(|mut store| {
                mounted = chip.bytes() - from;
                requests(&mut store, &mut expected, &mut draws, &mut version, 6)
            });
            assert_eq!(done, if cut.is_some() { Err(Error::Device) } else { Ok(()) });
            (mounted..chip.bytes() - from, chip, expected)
        };
        // A mount changes nothing; it is cut below.
        let bytes = history(None).0;
        let mut last: Option<(Simulated, Expected)> = None;
        for byte in bytes {
            for how in TORN {
                let (_, chip, mut expected) = history(Some((byte, how)));
                let was_torn = chip.was_torn();
                cuts += 1;
                torn += u32::from(was_torn);
                let what = format!("seed {seed}, byte {byte}, {how:?}");
                // A cut that leaves what the one before it left is followed once.
                if last.as_ref().is_some_and(|(like, of)| chip.is_like(like) && *of == expected) {
                    if was_torn {
                        continue;
                    }
                    break;
                }
                last = Some((chip.snapshot(), expected.clone()));
                followed += 1;
                // A second one, in the mount or behind it.
                chip.power_on();
                chip.cut_after(byte * 7919 % 3000, how);
                let mut memory = Memory::new();
                let mut version = version + 1000;
                let again = mount(&chip, &mut memory).and_then(|mut store| {
                    requests(&mut store, &mut expected, &mut Draws(seed), &mut version, 2)
                });
                assert!(matches!(again, Ok(()) | Err(Error::Device)), "{what}: {again:?}");
                chip.power_on();
                let mut memory = Memory::new();
                let mut store = mount(&chip, &mut memory).unwrap_or_else(|e| panic!("{what}: {e}"));
                verify(&mut store, &expected, &what);
                drop(store);
                assert_eq!(chip.broken(), None, "{what}");
                if !was_torn {
                    break; // the chip did nothing: it is as it was
                }
            }
        }
    }
    println!(
        "{cuts} cuts, {torn} of them in a program or an erase; {followed} left something else than the one before"
    );
    assert!(torn > 500, "{torn}");
}

/// Of pages that may hold several versions, the one that they hold; a trim may be undone until the next flush.
fn look(store: &mut Store<'_>, expected: &mut Expected, what: &str) {
    let mut page = [0; PAGE];
    for (lpn, versions) in expected.iter_mut().enumerate().filter(|(_, all)| all.len() > 1) {
        store.read(lpn as u32, &mut page).unwrap_or_else(|e| panic!("{what}: {e}"));
        let shown = versions.iter().rposition(|version| page == content(lpn, *version));
        let shown =
            shown.unwrap_or_else(|| panic!("{what}: page {lpn} holds none of {versions:?}"));
        versions.truncate(shown + 1);
        if versions[shown] != 0 {
            versions.drain(..shown);
        }
    }
}

#[test]
fn a_chip_that_loses_its_power_alone_loses_nothing_of_the_layer() {
    let (before, prepared, first) = prepared(3);
    let mut errors = 0;
    for byte in (0..6000).step_by(7) {
        let how = TORN[byte as usize / 7 % 4];
        let chip = before.snapshot();
        chip.power_on();
        let (mut memory, mut expected, mut version) = (Memory::new(), prepared.clone(), first);
        let mut store = mount(&chip, &mut memory).expect("mounted");
        chip.brown_out_after(byte, how);
        let mut draws = Draws(byte as u32);
        let what = format!("byte {byte}, {how:?}");
        for _ in 0..8 {
            // The host goes on after an error, and looks what the request left. What is shown stays.
            match requests(&mut store, &mut expected, &mut draws, &mut version, 3) {
                Ok(()) => {}
                Err(Error::Device) => {
                    errors += 1;
                    look(&mut store, &mut expected, &what);
                }
                Err(e) => panic!("{what}: {e}"),
            }
        }
        verify(&mut store, &expected, &what);
        assert_eq!(store.health().bad_blocks, 0, "{what}");
        drop(store);
        let mut memory = Memory::new();
        chip.power_on();
        let mut store = mount(&chip, &mut memory).expect("mounted");
        verify(&mut store, &expected, &what);
        drop(store);
        assert_eq!(chip.broken(), None, "{what}");
    }
    assert!(errors > 100, "{errors}");
}

#[test]
fn a_chip_that_loses_its_power_alone_at_any_byte_is_never_believed() {
    let mut met = [0; 2];
    for how in TORN {
        // Each operation of the driver, alone, on a page that is there and one that is blank.
        for operation in 0..6_u32 {
            for byte in 0.. {
                let chip = Simulated::new(&SMALL[0], 64, w25n01gv_spare);
                let mut nand = SpiNand::among(chip.clone(), chip.clone(), &SMALL).expect("set up");
                let (old, new) = (([1; PAGE], [2; 16]), ([3; PAGE], [4; 16]));
                nand.program(8, &old.0, &old.1).expect("programmed");
                let from = chip.bytes();
                chip.brown_out_after(byte, how);
                let (mut page, mut area) = ([0; PAGE], [0; 16]);
                let done = match operation {
                    0 => nand.read(8, 0, &mut page),
                    1 => nand.read_area(8, &mut area),
                    2 => nand.program(9, &new.0, &new.1),
                    3 => nand.erase(1),
                    4 => nand.copy(8, 9, &new.1, &mut page),
                    _ => nand.is_bad(1).map(|is_bad| assert!(!is_bad, "byte {byte}")),
                };
                let what = format!("operation {operation}, byte {byte}, {how:?}: {done:?}");
                assert!(matches!(done, Ok(()) | Err(NandError::Device)), "{what}");
                met[usize::from(done.is_ok())] += 1;
                let is_over = chip.bytes() - from < byte;
                chip.cut_after(u64::MAX, how);
                let mut is = |page, data: [u8; PAGE], beside: [u8; 16]| {
                    let (mut read, mut area) = ([0; PAGE], [0; 16]);
                    nand.read(page, 0, &mut read).expect("readable");
                    nand.read_area(page, &mut area).expect("readable");
                    assert_eq!((read, area), (data, beside), "{what}");
                };
                if done.is_ok() {
                    match operation {
                        0 => assert_eq!(page, old.0, "{what}"),
                        1 => assert_eq!(area, old.1, "{what}"),
                        2 => is(9, new.0, new.1),
                        3 => is(8, [0xff; PAGE], [0xff; 16]),
                        4 => is(9, old.0, new.1),
                        _ => {}
                    }
                }
                if is_over {
                    break;
                }
            }
        }
    }
    assert!(met[0] > 100 && met[1] > 100, "{met:?}");
}
