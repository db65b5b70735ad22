//! What mounting costs by itself: processor time and memory on a chip whose operations cost nothing.
//!
//! `cargo run --release -p thermocline-ftl --example mount_cost -- [GiB]`

#![allow(clippy::print_stdout)]

use std::{collections::BTreeMap, time::Instant};

use thermocline_flash::{
    BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, SimulatedTime,
};
use thermocline_ftl::{Config, Format, Inspect, Mount, PageIo, PageMapped, Upkeep, index};
use thermocline_policy::{
    Args, Context,
    placement::{Registered, Sequential},
    victim::{VICTIMS, Victim},
};

/// Areas, and the payload of the index log.
struct Nothing {
    geometry: Geometry,
    areas: Vec<Option<Oob>>,
    log: BTreeMap<Ppn, Vec<u8>>,
    erases: Vec<u32>,
}

impl Flash for Nothing {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    fn in_order(&self) -> bool {
        true
    }
    fn is_bad(&self, _: BlockId) -> bool {
        false
    }
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        if let Some(page) = self.log.get(&from)
            && !into.is_empty()
        {
            into.copy_from_slice(page);
        }
        Ok(())
    }
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        Ok(self.areas[from.index()])
    }
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        if oob.lpn == Lpn::NONE {
            self.log.insert(to, data.to_vec());
        }
        self.areas[to.index()] = Some(oob);
        Ok(())
    }
    fn copy(&mut self, _: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.areas[to.index()] = Some(oob);
        Ok(())
    }
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        let first = self.geometry.ppn(block, 0).index();
        self.areas[first..][..self.geometry.pages_per_block as usize].fill(None);
        self.erases[block.index()] += 1;
        Ok(())
    }
    fn mark_bad(&mut self, _: BlockId) -> Result<(), FlashError> {
        Ok(())
    }
    fn sync(&mut self) -> Result<(), FlashError> {
        Ok(())
    }
}

impl Condition for Nothing {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }
}

impl SimulatedTime for Nothing {}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gib: u32 = std::env::args().nth(1).map_or(Ok(16), |arg| arg.parse())?;
    let mut geometry = Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: gib * 1024,
        pages_per_block: 256,
        page_size: 4096,
        oob_size: 32,
        header_pages: 0,
        system_blocks: 0,
    };
    let logical = (u64::from(gib) * (1 << 18) * 85 / 100) as u32;
    geometry.system_blocks = index::system_blocks_for(&geometry, logical);
    println!("{} system blocks of {}", geometry.system_blocks, geometry.blocks());
    let pages = geometry.blocks() as usize * 256;
    let chip = Nothing {
        geometry,
        areas: vec![None; pages],
        log: BTreeMap::new(),
        erases: vec![0; geometry.blocks() as usize],
    };
    let context = Context::smallest();
    let greedy = |_| -> Box<dyn Victim> {
        let entry = VICTIMS.iter().find(|entry| entry.info.is_called("greedy"));
        let built = entry.map(|entry| (entry.build)(&Args(Vec::new()), &context));
        built.and_then(Result::ok).expect("greedy is registered and has no parameters")
    };
    let placement = || Sequential::build(&Args(Vec::new()), &context);
    let config = Config::new(logical);
    let mut layer = PageMapped::format(chip, placement()?, greedy, config, Format::default())?;
    for lpn in 0..logical {
        layer.write(Lpn(lpn), &[], u64::from(lpn))?;
    }
    let mut seed = 1_u64;
    for n in 0..u64::from(logical) * 2 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let lpn = ((seed >> 32) * u64::from(logical)) >> 32;
        layer.write(Lpn(lpn as u32), &[], u64::from(logical) + n)?;
    }
    let programs = layer.counters().host_writes + layer.counters().copies;
    println!("{programs} data pages programmed, {} erases", layer.counters().erases);
    let mut chip = layer.into_chip();
    for (name, how, unmount) in [
        ("quick, after a crash", Mount::Quick, false),
        ("from pages, after a crash", Mount::FromPages, true),
        ("quick, clean", Mount::Quick, false),
        ("from pages, clean", Mount::FromPages, false),
    ] {
        let begun = Instant::now();
        let (mut layer, recovery) = PageMapped::mount(chip, placement()?, greedy, config, how)?;
        println!("{name}: {:.0} ms, {recovery:?}", begun.elapsed().as_secs_f64() * 1e3);
        if unmount {
            layer.write(Lpn(0), &[], u64::MAX)?;
            let begun = Instant::now();
            layer.unmount(u64::MAX)?;
            println!("unmount: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
        }
        let memory = layer.memory();
        println!("  {:.2} bytes a logical page", memory as f64 / f64::from(logical));
        chip = layer.into_chip();
    }
    Ok(())
}
