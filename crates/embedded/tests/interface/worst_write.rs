//! What one write may cost: programs, whatever the traffic.

use thermocline_embedded::{
    AREA, Block, Change, Config, Ftl, Geometry, Memory, Nand, NandError, map_pages,
    most_logical_pages,
    policy::{Cat, CostBenefit, Dac, Greedy, HotCold, OneStream, Placement, Victim},
};

const SHAPE: Geometry = Geometry { blocks: 160, pages: 32, page_size: 512 };
/// One of which some blocks are kept for snapshots.
const WITH_SNAPSHOTS: Geometry = Geometry { blocks: 256, pages: 32, page_size: 1024 };
const SPARE_BLOCKS: u32 = 4;

/// NAND in memory, of which some programs fail.
struct Chip {
    shape: Geometry,
    areas: Vec<[u8; AREA]>,
    data: Vec<u8>,
    bad: Vec<bool>,
    draw: u32,
    failures: u32,
    programs: u32,
    erases: u32,
}

impl Chip {
    fn new(shape: Geometry) -> Self {
        let pages = (shape.blocks * shape.pages) as usize;
        Self {
            shape,
            areas: vec![[0xff; AREA]; pages],
            data: vec![0xff; pages * shape.page_size as usize],
            bad: vec![false; shape.blocks as usize],
            draw: 1,
            failures: 0,
            programs: 0,
            erases: 0,
        }
    }

    fn page(&mut self, page: u32) -> &mut [u8] {
        let size = self.shape.page_size as usize;
        &mut self.data[page as usize * size..][..size]
    }
}

fn drawn(draw: &mut u32, below: u32) -> u32 {
    *draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    ((u64::from(*draw >> 8) * u64::from(below)) >> 24) as u32
}

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        self.shape
    }
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        into.copy_from_slice(&self.page(page)[offset as usize..][..into.len()]);
        Ok(())
    }
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        *into = self.areas[page as usize];
        Ok(())
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        self.programs += 1;
        if self.failures > 0 && drawn(&mut self.draw, 5_000) == 0 {
            self.failures -= 1;
            return Err(NandError::Failed);
        }
        self.page(page).copy_from_slice(data);
        self.areas[page as usize] = *area;
        Ok(())
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.erases += 1;
        for page in block * self.shape.pages..(block + 1) * self.shape.pages {
            self.areas[page as usize] = [0xff; AREA];
            self.page(page).fill(0xff);
        }
        Ok(())
    }
    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        Ok(self.bad[block as usize])
    }
    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        self.bad[block as usize] = true;
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Traffic {
    Uniform,
    /// Sequential, then uniform over one half, then over the other, in turn.
    Changing,
    /// Every now and then a few hundred pages are trimmed.
    Trims,
    /// Some programs fail.
    Failing,
}

/// No write programs more than the store says, or erases more than a block that was cleaned and one that is opened, and one for
/// snapshots.
fn each_is_short<V: Victim + Default, P: Placement + Default>(
    shape: Geometry,
    full: u32,
    traffic: Traffic,
    changes: u32,
) {
    let placement = P::default();
    let most = most_logical_pages(&shape, SPARE_BLOCKS, placement.streams());
    let logical = (shape.blocks * shape.pages * full / 100).min(most);
    let mut chip = Chip::new(shape);
    chip.failures = if traffic == Traffic::Failing { SPARE_BLOCKS } else { 0 };
    let mut directory = vec![0; map_pages(shape.page_size, logical) as usize];
    let mut changes = vec![Change::EMPTY; directory.len() * changes as usize];
    let mut blocks = vec![Block::UNKNOWN; shape.blocks as usize];
    let mut page = vec![0; shape.page_size as usize];
    let memory = Memory {
        blocks: blocks.as_mut_slice().into(),
        directory: directory.as_mut_slice().into(),
        changes: changes.as_mut_slice().into(),
        page: page.as_mut_slice().into(),
    };
    let config = Config { logical_pages: logical, spare_blocks: SPARE_BLOCKS };
    let mut ftl =
        Ftl::format(chip, memory, V::default(), placement, config).expect("there is room");
    let mut draw = 7;
    for n in 0..4 * logical {
        let lpn = match traffic {
            _ if n < logical => n,
            Traffic::Changing => match n / (logical / 2) % 4 {
                0 => n % logical,
                1 => drawn(&mut draw, logical / 2),
                2 => drawn(&mut draw, logical / 2) + logical / 2,
                _ => drawn(&mut draw, logical / 20),
            },
            _ => drawn(&mut draw, logical),
        };
        if traffic == Traffic::Trims && n % 500 == 0 {
            for _ in 0..250 {
                ftl.trim(drawn(&mut draw, logical)).expect("trimmed");
            }
        }
        (ftl.nand_mut().programs, ftl.nand_mut().erases) = (0, 0);
        ftl.write(lpn, &vec![1; shape.page_size as usize]).expect("written");
        let &Chip { programs, erases, .. } = ftl.nand();
        let bound = ftl.longest_write();
        assert!(
            programs <= bound && erases <= if shape == SHAPE { 2 } else { 3 },
            "{full} % full, {traffic:?}: {programs} programs of {bound}, {erases} erases"
        );
    }
}

#[test]
fn no_write_is_long_whatever_comes() {
    for full in [50, 80, 100] {
        for traffic in [Traffic::Uniform, Traffic::Changing, Traffic::Trims, Traffic::Failing] {
            for changes in [2, 8] {
                each_is_short::<Greedy, OneStream>(SHAPE, full, traffic, changes);
                each_is_short::<CostBenefit, HotCold>(SHAPE, full, traffic, changes);
                each_is_short::<Cat, Dac<3>>(SHAPE, full, traffic, changes);
            }
        }
    }
}

#[test]
fn no_write_is_long_where_snapshots_are_kept_up() {
    for traffic in [Traffic::Uniform, Traffic::Changing, Traffic::Trims] {
        each_is_short::<Cat, Dac<3>>(WITH_SNAPSHOTS, 85, traffic, 40);
    }
}
