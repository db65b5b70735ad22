//! Futures of the driver that are dropped in the midst of a transaction, or while the chip is at work.

use thermocline_embedded::{
    AREA, Config, Error, Static,
    asynchronous::{Ftl, Nand},
    policy::{Cat, Dac},
};
use thermocline_spi_nand::{asynchronous::SpiNand, simulated::Simulated};

use crate::{Draws, PAGE, SMALL, poll_for, small};

async fn driver(chip: &Simulated) -> SpiNand<Simulated, Simulated> {
    SpiNand::among(chip.clone(), chip.clone(), &SMALL).await.expect("it works")
}

#[test]
fn the_next_operation_waits_for_the_chip_wherever_one_was_dropped() {
    for most in 1.. {
        let chip = small();
        let mut nand = poll_for(driver(&chip), u32::MAX).0.expect("it ends");
        let mut read = [0; PAGE];
        let program = poll_for(nand.program(8, &[0x11; PAGE], &[1; AREA]), u32::MAX).0;
        assert_eq!(program, Some(Ok(())));
        // A program, a look at the parameter page, which is where pages are otherwise, and an erase.
        let (programmed, _) = poll_for(nand.program(16, &[0x22; PAGE], &[2; AREA]), most);
        let (other, _) = poll_for(nand.read(8, 0, &mut read), u32::MAX);
        assert_eq!((other, read), (Some(Ok(())), [0x11; PAGE]), "dropped after {most}");
        let (told, _) = poll_for(nand.parameters(), most);
        let (other, _) = poll_for(nand.read(8, 0, &mut read), u32::MAX);
        assert_eq!((other, read), (Some(Ok(())), [0x11; PAGE]), "dropped after {most}");
        let (erased, _) = poll_for(nand.erase(2), most);
        let (other, _) = poll_for(nand.program(24, &[0x33; PAGE], &[3; AREA]), u32::MAX);
        assert_eq!(other, Some(Ok(())), "dropped after {most}");
        assert_eq!(poll_for(nand.read(24, 0, &mut read), u32::MAX).0, Some(Ok(())));
        assert_eq!(read, [0x33; PAGE], "dropped after {most}");
        assert_eq!(chip.broken(), None, "dropped after {most}");
        if programmed.is_some() && told.is_some() && erased.is_some() {
            break;
        }
    }
}

#[test]
fn a_store_on_it_loses_nothing() {
    let mut drops = 0;
    // In the last one cleaning erased blocks as if the store had been mounted long ago, and so what annulled a page.
    for seed in (0..40).chain([1595]) {
        let chip = small();
        let nand = poll_for(driver(&chip), u32::MAX).0.expect("it ends");
        let mut memory = Static::<24, 5, 14, PAGE>::new();
        let config = Config { logical_pages: 60, spare_blocks: 2 };
        let made = Ftl::format(nand, memory.memory(), Cat::default(), Dac::<2>, config);
        let mut store = poll_for(made, u32::MAX).0.expect("it ends").expect("it is made");
        let mut draws = Draws(seed);
        // What pages may hold; the last is what was written last, or found.
        let mut expected = vec![vec![0_u8]; 60];
        for request in 0..120 {
            let lpn = draws.below(60);
            let most = if draws.below(4) == 0 { 1 + draws.below(200) } else { u32::MAX };
            let version = 1 + draws.below(255) as u8;
            let page = &mut expected[lpn as usize];
            page.push(version);
            let written: Option<Result<(), Error>> =
                poll_for(store.write(lpn, &[version; PAGE]), most).0;
            if written.is_none() {
                drops += 1;
            } else {
                assert_eq!(written, Some(Ok(())), "history {seed}, request {request}");
                *page = vec![version];
            }
            let other = draws.below(60) as usize;
            let mut read = [0; PAGE];
            let done = poll_for(store.read(other as u32, &mut read), u32::MAX).0.expect("it ends");
            assert!(done.is_ok(), "history {seed}, request {request}: {done:?}");
            let found = read[0];
            assert_eq!(read, [found; PAGE], "history {seed}, request {request}");
            let may = &expected[other];
            assert!(
                may.contains(&found),
                "history {seed}, request {request}: page {other} holds {found}, not {may:?}"
            );
        }
        assert_eq!(chip.broken(), None, "history {seed}");
        // A driver and a store that know nothing of all this.
        drop(store);
        let nand = poll_for(driver(&chip), u32::MAX).0.expect("it ends");
        let mounted = Ftl::mount(nand, memory.memory(), Cat::default(), Dac::<2>);
        let mut store = poll_for(mounted, u32::MAX).0.expect("it ends").expect("it mounts");
        for (may, lpn) in expected.iter().zip(0..) {
            let mut read = [0; PAGE];
            poll_for(store.read(lpn, &mut read), u32::MAX).0.expect("it ends").expect("it reads");
            assert!(may.contains(&read[0]), "history {seed}: page {lpn}");
        }
    }
    println!("{drops} futures dropped");
    assert!(drops > 500);
}
