//! Power cuts at every byte on the bus, through the layer, the driver and the chip.

use thermocline_embedded::{
    Config, Error, Ftl, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::{
    Chip, Ecc, Id, Spare, SpiNand, chips,
    simulated::{Simulated, TORN, Torn, w25n01gv_spare},
};

const PAGE: usize = 64;
const LOGICAL: usize = 60;

/// A W25N01GV, but small.
static SMALL: [Chip; 1] = [Chip {
    id: Id::AfterDummy(&[0xef, 0xaa, 0x20]),
    blocks: 24,
    pages: 8,
    page_size: PAGE as u16,
    ecc: Ecc::Plain,
    spare: Spare { first: 4, run: 4, stride: 16 },
    ..chips::W25N01GV
}];

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
