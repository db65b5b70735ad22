//! Power cuts at every byte on the bus, through the layer, the driver and the chip.

use thermocline_embedded::{
    AREA, Config, Error, Ftl, Nand, NandError, Static,
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
        let how = TORN[byte as usize / 7 % TORN.len()];
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

const OLD: ([u8; PAGE], [u8; AREA]) = ([1; PAGE], [2; AREA]);
const NEW: ([u8; PAGE], [u8; AREA]) = ([3; PAGE], [4; AREA]);

type Driver = SpiNand<Simulated, Simulated>;

/// A chip whose page 8 is programmed, and what follows it is blank.
fn programmed() -> (Simulated, Driver) {
    let chip = Simulated::new(&SMALL[0], 64, w25n01gv_spare);
    let mut nand = SpiNand::among(chip.clone(), chip.clone(), &SMALL).expect("set up");
    nand.program(8, &OLD.0, &OLD.1).expect("programmed");
    (chip, nand)
}

/// One operation of the driver.
fn operate(
    nand: &mut Driver,
    operation: u32,
    page: &mut [u8; PAGE],
    area: &mut [u8; AREA],
) -> Result<(), NandError> {
    match operation {
        0 => nand.read(8, 0, page),
        1 => nand.read_area(8, area),
        2 => nand.program(9, &NEW.0, &NEW.1),
        3 => nand.erase(1),
        4 => nand.copy(8, 9, &NEW.1, page),
        5 => nand.is_bad(1).map(|is_bad| assert!(!is_bad)),
        6 => nand.mark_bad(2),
        _ => nand.parameters().map(drop),
    }
}

/// What a page and its area hold; nothing of data that cannot be read.
fn held(nand: &mut Driver, page: u32) -> (Option<[u8; PAGE]>, Option<[u8; AREA]>) {
    let (mut data, mut area) = ([0; PAGE], [0; AREA]);
    let is_read = nand.read(page, 0, &mut data).is_ok();
    let is_beside = nand.read_area(page, &mut area).is_ok();
    (is_read.then_some(data), is_beside.then_some(area))
}

#[test]
fn a_cut_at_any_byte_of_any_operation_leaves_all_but_its_page_or_block_as_it_was() {
    let whole = |(data, area)| (Some(data), Some(area));
    let blank = whole(([0xff; PAGE], [0xff; AREA]));
    let mut met = [0; TORN.len()];
    for (how, count) in TORN.into_iter().zip(&mut met) {
        for operation in 0..8 {
            for byte in 0.. {
                let (chip, mut nand) = programmed();
                let from = chip.bytes();
                chip.cut_after(byte, how);
                let (mut page, mut area) = ([0; PAGE], [0; AREA]);
                let done = operate(&mut nand, operation, &mut page, &mut area);
                let what = format!("operation {operation}, byte {byte}, {how:?}: {done:?}");
                if chip.bytes() - from < byte {
                    assert_eq!(done, Ok(()), "{what}");
                    break;
                }
                if done.is_ok() {
                    // It was over before.
                    continue;
                }
                assert_eq!(done, Err(NandError::Device), "{what}");
                let (was_torn, (_, programs, erases)) = (chip.was_torn(), chip.operations());
                *count += u32::from(was_torn);
                let is_met = was_torn && how != Torn::Undone;
                // The last that the driver asks is whether the chip had power all the time.
                let is_done = if was_torn { how == Torn::Done } else { programs + erases > 1 };
                // The set-up is cut off as well, at each of its bytes.
                for again in 0.. {
                    chip.power_on();
                    let before = chip.bytes();
                    chip.cut_after(again, how);
                    let made = SpiNand::among(chip.clone(), chip.clone(), &SMALL);
                    if chip.bytes() - before < again {
                        break;
                    }
                    assert!(made.is_err() || chip.bytes() - before == again, "{what}, {again}");
                    if byte % 16 > 0 {
                        break;
                    }
                }
                chip.power_on();
                let mut nand = SpiNand::among(chip.clone(), chip.clone(), &SMALL).expect("set up");
                let (old, target) = (held(&mut nand, 8), held(&mut nand, 9));
                let after = match operation {
                    2 => whole(NEW),
                    4 => whole((OLD.0, NEW.1)),
                    _ => blank,
                };
                match operation {
                    2..=4 if is_done => {
                        let changed = if operation == 3 { old } else { target };
                        assert_eq!(changed, after, "{what}");
                    }
                    3 if is_met => assert_eq!(old.0, None, "{what}"),
                    2 | 4 if is_met => assert_eq!((old, target.0), (whole(OLD), None), "{what}"),
                    _ => assert_eq!((old, target), (whole(OLD), blank), "{what}"),
                }
                let is_marked = is_done || is_met && how != Torn::Begun;
                assert_eq!(nand.is_bad(2), Ok(operation == 6 && is_marked), "{what}");
                let others = [0, 7, 24, 191, 10, 15];
                for other in others.into_iter().take(if operation == 3 { 4 } else { 6 }) {
                    assert_eq!(held(&mut nand, other), blank, "{what}: page {other}");
                }
                assert_eq!(chip.broken(), None, "{what}");
            }
        }
    }
    assert!(met.iter().all(|count| *count > 10), "{met:?}");
}

#[test]
fn a_format_that_is_cut_at_any_byte_leaves_the_old_store_or_none() {
    let (before, expected, _) = prepared(5);
    let config = Config { logical_pages: LOGICAL as u32, spare_blocks: 1 };
    let format = |chip: &Simulated| -> Result<(), Error> {
        let nand = SpiNand::among(chip.clone(), chip.clone(), &SMALL).map_err(|_| Error::Device)?;
        Ftl::format(nand, Memory::new().memory(), Cat::default(), Dac::<2>, config).map(drop)
    };
    let mut met = [0; 3];
    for byte in 0.. {
        let mut is_over = false;
        for how in TORN {
            let chip = before.snapshot();
            chip.power_on();
            let from = chip.bytes();
            chip.cut_after(byte, how);
            let what = format!("byte {byte}, {how:?}");
            let done = format(&chip);
            is_over = chip.bytes() - from < byte;
            let was_torn = chip.was_torn();
            if is_over {
                assert_eq!(done, Ok(()));
                break;
            }
            chip.power_on();
            let mut memory = Memory::new();
            match mount(&chip, &mut memory) {
                Err(Error::NotFormatted) => met[0] += 1,
                Err(e) => panic!("{what}: {e}"),
                Ok(mut store) => {
                    let mut page = [0; PAGE];
                    let is_empty =
                        (0..LOGICAL as u32).all(|lpn| store.read(lpn, &mut page) == Ok(false));
                    met[1 + usize::from(is_empty)] += 1;
                    if !is_empty {
                        verify(&mut store, &expected, &what);
                    }
                }
            }
            // Again, cut as early or at its end, and to its end.
            chip.power_on();
            chip.cut_after(byte, how);
            let _ = format(&chip);
            chip.power_on();
            assert_eq!(format(&chip), Ok(()), "{what}");
            assert_eq!(chip.broken(), None, "{what}");
            if !was_torn {
                break;
            }
        }
        if is_over {
            break;
        }
    }
    println!("{met:?}: no store, the old one, an empty one");
    assert!(met.iter().all(|count| *count > 0), "{met:?}");
}

#[test]
fn a_chip_that_loses_its_power_alone_at_any_byte_is_never_believed() {
    let mut met = [0; 2];
    for how in TORN {
        // Each operation of the driver, alone, on a page that is there and one that is blank.
        for operation in 0..6 {
            for byte in 0.. {
                let (chip, mut nand) = programmed();
                let from = chip.bytes();
                chip.brown_out_after(byte, how);
                let (mut page, mut area) = ([0; PAGE], [0; AREA]);
                let done = operate(&mut nand, operation, &mut page, &mut area);
                let what = format!("operation {operation}, byte {byte}, {how:?}: {done:?}");
                assert!(matches!(done, Ok(()) | Err(NandError::Device)), "{what}");
                met[usize::from(done.is_ok())] += 1;
                let is_over = chip.bytes() - from < byte;
                chip.cut_after(u64::MAX, how);
                let mut is = |page, data: [u8; PAGE], beside: [u8; AREA]| {
                    let (mut read, mut area) = ([0; PAGE], [0; AREA]);
                    nand.read(page, 0, &mut read).expect("readable");
                    nand.read_area(page, &mut area).expect("readable");
                    assert_eq!((read, area), (data, beside), "{what}");
                };
                if done.is_ok() {
                    match operation {
                        0 => assert_eq!(page, OLD.0, "{what}"),
                        1 => assert_eq!(area, OLD.1, "{what}"),
                        2 => is(9, NEW.0, NEW.1),
                        3 => is(8, [0xff; PAGE], [0xff; AREA]),
                        4 => is(9, OLD.0, NEW.1),
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
