//! What the makers' chips say.

use thermocline_embedded::{AREA, Nand, NandError};
use thermocline_spi_nand::{
    Chip, Dies, Ecc, More, SpiNand, chips,
    simulated::{Simulated, SpareByte},
};

const LOST: Option<u8> = None;

/// By each maker's data sheet: the bits of the status, their lowest, and what each of their values says; where more is asked,
/// the values of that. All others are reserved.
#[test]
fn every_status_of_every_maker_is_decoded() {
    use Ecc::*;
    let told = [
        (Plain, 4, 4, vec![(0, Some(0)), (1, Some(4)), (2, LOST), (3, LOST)]),
        (Ranges, 4, 8, vec![(0, Some(0)), (1, Some(3)), (2, LOST), (3, Some(6)), (5, Some(8))]),
        (UpToSeven, 4, 4, vec![(0, Some(0)), (1, Some(7)), (2, LOST), (3, Some(8))]),
        (
            ThreeToEight,
            4,
            8,
            vec![
                (0, Some(0)),
                (1, Some(3)),
                (2, Some(4)),
                (3, Some(5)),
                (4, Some(6)),
                (5, Some(7)),
                (6, Some(8)),
                (7, LOST),
            ],
        ),
        (Four, 2, 16, (0..=7).map(|n| (n, Some(n))).chain([(8, LOST), (12, Some(8))]).collect()),
        (HighFour, 4, 16, (0..=8).map(|n| (n, Some(n))).chain([(15, LOST)]).collect()),
        (
            HighTwo,
            4,
            16,
            (0..16)
                .map(|n| (n, [Some(0), Some(4 + n / 4), LOST, Some(8)][usize::from(n % 4)]))
                .collect(),
        ),
    ];
    for (ecc, lowest, values, known) in told {
        for status in 0..=255_u8 {
            let value = (status >> lowest) % values;
            let says = known.iter().find(|known| known.0 == value).map_or(LOST, |known| known.1);
            assert_eq!(ecc.more(status), More::No);
            for more in [0, 255] {
                assert_eq!(ecc.corrected(status, more, 4), says, "{ecc:?} {status:02x}");
            }
        }
    }
    // Those that are asked for more: what, after which statuses, and what each answer says.
    for answer in 0..=255_u8 {
        let high =
            |strength| Some(answer >> 4).filter(|n| (1..=strength).contains(n)).unwrap_or(strength);
        let low = Some(answer & 15).filter(|n| (1..=4).contains(n)).unwrap_or(4);
        let two = answer >> 4 & 3;
        let asked = [
            (MostBits, 8, More::Register(0x30), [Some(0), Some(high(8)), LOST, Some(high(8))]),
            (MostBits, 4, More::Register(0x30), [Some(0), Some(high(4)), LOST, Some(high(4))]),
            (Command, 4, More::Command(0x7c), [Some(0), Some(low), LOST, LOST]),
            (FourToSeven, 8, More::Register(0xf0), [Some(0), Some(4 + two), LOST, Some(8)]),
            (OneToFour, 4, More::Register(0xf0), [Some(0), Some(1 + two), LOST, LOST]),
        ];
        for (ecc, strength, question, says) in asked {
            for status in 0..=255_u8 {
                let value = status >> 4 & 3;
                let is_asked = value == 1 || value == 3 && ecc == MostBits;
                assert_eq!(ecc.more(status), if is_asked { question } else { More::No });
                let found = ecc.corrected(status, answer, strength);
                assert_eq!(found, says[usize::from(value)], "{ecc:?} {status:02x} {answer:02x}");
            }
        }
    }
}

/// The spare bytes of a chip that covers all but the first two.
fn covered(byte: usize) -> SpareByte {
    if byte < 2 { SpareByte::Free } else { SpareByte::Covered((byte / 16 % 4) as u8) }
}

fn on_every_chip(test: impl Fn(&'static Chip, Simulated, SpiNand<Simulated, Simulated>)) {
    for chip in chips::ALL {
        let simulated = if *chip == chips::W25N01GV {
            Simulated::w25n01gv()
        } else {
            Simulated::new(chip, 128, covered)
        };
        let nand = SpiNand::new(simulated.clone(), simulated.clone())
            .unwrap_or_else(|e| panic!("{}: {e}", chip.name));
        test(chip, simulated, nand);
    }
}

#[test]
fn every_chip_of_the_table_is_found_and_no_two_are_alike() {
    on_every_chip(|chip, _, nand| {
        assert_eq!(nand.chip().name, chip.name);
        assert!(nand.geometry().check().is_ok(), "{}", chip.name);
        assert!(chip.spare.run == 4 || chip.spare.run == 16, "{}", chip.name);
        // No mark of the maker's is in the area.
        assert!(chip.spare.first >= 2, "{}", chip.name);
    });
    let names: std::collections::BTreeSet<_> = chips::ALL.iter().map(|chip| chip.name).collect();
    assert_eq!(names.len(), chips::ALL.len());
}

#[test]
fn what_every_chip_corrects_is_told_and_what_it_cannot_is_an_error() {
    on_every_chip(|chip, simulated, mut nand| {
        let size = usize::from(chip.page_size);
        let (data, area) = (vec![0xa5; size], [0x3c; AREA]);
        let (mut read, mut beside) = (vec![0; size], [0; AREA]);
        nand.program(0, &data, &area).expect("it works");
        for bits in 0..=chip.strength {
            nand.read(64, 0, &mut read[..1]).expect("it works"); // another page is in the register
            nand.read(0, 0, &mut read).expect("it works");
            nand.read_area(0, &mut beside).expect("it works");
            assert!(read == data && beside == area, "{}: {bits} bits", chip.name);
            let told = nand.corrected();
            assert!(told >= u32::from(bits), "{}: {told}, not {bits} bits", chip.name);
            assert!(bits > 0 || told == 0, "{}: {told} bits of none", chip.name);
            if bits == chip.strength {
                assert!(told >= nand.refresh_from() && told == u32::from(bits), "{}", chip.name);
            }
            simulated.turn(0, 3 * u16::from(bits), bits);
        }
        nand.read(64, 0, &mut read[..1]).expect("it works");
        assert_eq!(nand.read(0, 0, &mut read), Err(NandError::Unreadable), "{}", chip.name);
        // What stands beside it has a check of its own.
        nand.read_area(0, &mut beside).expect("it works");
        assert_eq!(beside, area, "{}", chip.name);
    });
}

#[test]
fn every_bit_of_the_area_is_one_that_the_w25n01gv_corrects() {
    let simulated = Simulated::w25n01gv();
    let mut nand = SpiNand::new(simulated.clone(), simulated.clone()).expect("it works");
    let spare = nand.chip().spare;
    for byte in 0..16_u16 {
        for bit in 0..8 {
            let page = u32::from(byte) * 8 + u32::from(bit);
            let area = std::array::from_fn(|i| (i * 17) as u8 ^ byte as u8);
            nand.program(page, &[byte as u8; 2048], &area).expect("it works");
            let column = 2048 + u16::from(spare.first) + byte / 4 * 16 + byte % 4;
            simulated.turn(page, column, bit);
            let mut read = [0; AREA];
            nand.read_area(page, &mut read).expect("it works");
            assert_eq!(read, area, "byte {byte}, bit {bit}");
        }
    }
}

#[test]
fn blocks_of_all_dies_and_planes_are_apart() {
    on_every_chip(|chip, simulated, mut nand| {
        let (size, pages) = (usize::from(chip.page_size), u32::from(chip.pages));
        let blocks = u32::from(chip.blocks);
        let of = [0, 1, 2, blocks / 2 - 1, blocks / 2, blocks / 2 + 1, blocks - 1];
        let (mut page, mut area) = (vec![0; size], [0; AREA]);
        for block in of {
            nand.program(block * pages, &vec![block as u8; size], &[block as u8; AREA])
                .expect("it works");
        }
        for block in of {
            nand.copy(block * pages, (blocks - 2) * pages + block % pages, &[7; AREA], &mut page)
                .expect("it works");
            page.fill(0);
            nand.read((blocks - 2) * pages + block % pages, 0, &mut page).expect("it works");
            nand.read_area((blocks - 2) * pages + block % pages, &mut area).expect("it works");
            assert!(page == vec![block as u8; size] && area == [7; AREA], "{}", chip.name);
            nand.read_area(block * pages, &mut area).expect("it works");
            assert_eq!(area, [block as u8; AREA], "{}", chip.name);
            nand.erase(blocks - 2).expect("it works");
        }
        let (_, programs, _) = simulated.operations();
        assert_eq!(programs, 2 * of.len() as u64, "{}", chip.name);
        assert!(chip.dies == Dies::One || chip.blocks >= 2048);
        assert_eq!(simulated.broken(), None, "{}", chip.name);
    });
}

#[test]
fn marks_in_the_second_page_count_where_the_maker_sets_them() {
    on_every_chip(|chip, simulated, mut nand| {
        assert_eq!(nand.is_bad(9), Ok(false), "{}", chip.name);
        // A mark programmed by hand where `mark` sets none.
        for bit in 0..8 {
            simulated.turn(9 * u32::from(chip.pages) + 1, chip.page_size, bit);
        }
        assert_eq!(nand.is_bad(9), Ok(chip.marks == 2), "{}", chip.name);
        nand.mark_bad(11).expect("it works");
        assert_eq!(nand.is_bad(11), Ok(true), "{}", chip.name);
    });
}

#[test]
fn the_guide_names_every_chip() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/spi-nand.md");
    let guide = std::fs::read_to_string(guide).expect("the guide is there");
    for chip in chips::ALL {
        assert!(guide.contains(chip.name), "docs/spi-nand.md lacks {}", chip.name);
    }
}
