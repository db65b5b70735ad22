//! A store in a file: makes it, writes a page, makes it durable, and finds it again.
//!
//!     cargo run --package thermocline-assembly --example store -- store.img

use thermocline_assembly::{Device, PolicySpec, Store, chips, device::Overrides, store};
use thermocline_flash::{Flash, Lpn};
use thermocline_ftl::Mount;
use thermocline_media::{
    Replace,
    image::{Image, Open, Options},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: store FILE")?;
    let path = std::path::Path::new(&path);
    let small = Overrides { capacity: Some(16 << 20), ..Overrides::default() };
    let device = Device::load("slc-generic")?.with(&small)?;
    let made = Store::fit(device, 0.15, PolicySpec::parse("cat", None, None)?)?;
    let profile = &made.device.profile;

    let image = Image::create(
        path,
        &Options {
            kind: profile.kind,
            geometry: profile.geometry,
            rules: profile.rules,
            profile: chips::profile_text(profile)?,
            bad_blocks: Vec::new(),
            preallocate: false,
            replace: Replace::Never,
            rights: None,
        },
    )?;
    let mut layer = made.format(image, store::new_format()?)?;
    layer.write(Lpn(7), &[0x5a; 4096], 1)?;
    // What an answer to a flush promises: trims are in the log, and all programs are on the disk.
    layer.upkeep().settle(2)?;
    layer.chip_mut().sync()?;
    drop(layer); // and not unmounted: as after a loss of power

    let image = Image::open(path, Open::default())?;
    let (mut layer, recovery) = made.mount(image, Mount::Quick)?;
    let mut page = [0; 4096];
    let found = layer.read(Lpn(7), &mut page)?;
    println!("clean: {}, page 7 found: {found}, its first byte: {:#x}", recovery.clean, page[0]);
    layer.upkeep().unmount(3)?;
    Ok(())
}
