//! Memory from an allocator, and policies that are chosen when the program runs.

use thermocline_embedded::{
    Config, Error, Ftl, Memory, Nand, conformance,
    policy::{Cat, Dac, Greedy, OneStream, Placement, Victim},
};

#[test]
fn a_store_owns_what_it_works_in() -> Result<(), Error> {
    let policies: [(Box<dyn Victim>, Box<dyn Placement>); 2] =
        [(Box::new(Greedy), Box::new(OneStream)), (Box::<Cat>::default(), Box::new(Dac::<3>))];
    for (victim, placement) in policies {
        let mut chip = conformance::Chip::new();
        let shape = chip.geometry();
        let (mut page, most) = (vec![0; shape.page_size as usize], 48);
        let memory = Memory::allocate(&shape, most, 16);
        let config = Config { logical_pages: most, ..Config::default() };
        let mut ftl = Ftl::format(&mut chip, memory, victim, placement, config)?;
        for number in 0..2000_u32 {
            ftl.write(number * 7 % most, &[number as u8; conformance::PAGE])?;
        }
        for number in 2000 - most..2000 {
            assert!(ftl.read(number * 7 % most, &mut page)?);
            assert_eq!(page, [number as u8; conformance::PAGE]);
        }
    }
    let mut chip = conformance::Chip::new();
    let memory = Memory::allocate(&chip.geometry(), 48, 1);
    let config = Config { logical_pages: 48, ..Config::default() };
    let refused = Ftl::format(&mut chip, memory, Greedy, OneStream, config).map(drop);
    assert!(matches!(refused, Err(Error::Memory(_))));
    Ok(())
}
