//! Images on a real file system.
#![cfg(unix)]

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;
use thermocline_flash::{
    BlockId, Condition, Flash, FlashError, Geometry, Kind, Lpn, Oob, Ppn, Rules,
};
use thermocline_media::{
    Medium, Ram, Replace,
    image::{Damage, Image, Open, Options, PROFILE_BYTES},
};
use thermocline_testing::skip;

const GEOMETRY: Geometry = Geometry {
    banks: 2,
    channels: 1,
    blocks_per_bank: 4,
    pages_per_block: 9,
    page_size: 4096,
    oob_size: 64,
    header_pages: 0,
    system_blocks: 1,
};

fn options() -> Options {
    Options {
        kind: Kind::Nand,
        geometry: GEOMETRY,
        rules: Rules { in_order: true, endurance: 30, initial_bad_blocks: 0 },
        profile: "test".into(),
        bad_blocks: vec![BlockId(6)],
        preallocate: false,
        replace: Replace::Never,
        rights: None,
    }
}

fn nor() -> Options {
    let geometry = Geometry { header_pages: 1, oob_size: 0, ..GEOMETRY };
    let rules = Rules { in_order: false, ..options().rules };
    Options { kind: Kind::Nor, geometry, rules, ..options() }
}

fn oob(number: u32) -> Oob {
    Oob {
        lpn: Lpn(number),
        stream: number as u8,
        sequence: u64::from(number) << 32,
        time: 1,
        note: 2,
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("chip.img")
}

/// Opens an image that was just closed. A process that another test starts right then has the file for
/// a moment more, and with it the lock.
fn open_again(path: &Path, open: Open) -> Image {
    for _ in 0..500 {
        match Image::open(path, open) {
            Ok(image) => return image,
            Err(error) if matches!(error.what, Damage::InUse(_)) => {}
            Err(error) => panic!("{error}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} is in use for good", path.display());
}

/// The same operations on an image and on a chip in memory, the image opened again now and then.
fn behaves_as_memory(path: &Path, options: &Options, open: Open) {
    drop(Image::create(path, options).expect("made"));
    let (geometry, rules) = (options.geometry, options.rules);
    let mut ram = Ram::new(geometry, rules).with_bad_blocks(&options.bad_blocks);
    if open.wears_out {
        ram = ram.that_wears_out();
    }
    let mut image = Image::open(path, open).expect("opened");
    let (mut draw, mut programmed, mut opened) = (1_u64, 0, 0);
    let mut data = [vec![0; 4096], vec![0; 4096]];
    for step in 0..6000_u32 {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let number = |bits: u32, below: u32| (draw >> bits) as u32 % below;
        // Blocks and pages beyond the chip as well.
        let block = BlockId(number(33, 9));
        let to = geometry.ppn(block, geometry.header_pages + number(40, 10));
        let from = geometry.ppn(BlockId(number(23, 8)), geometry.header_pages + number(43, 8));
        match number(50, 40) {
            0..2 => assert_eq!(image.erase(block), ram.erase(block)),
            2 if number(20, 90) == 0 => assert_eq!(image.mark_bad(block), ram.mark_bad(block)),
            3 => assert_eq!(image.sync(), Ok(())),
            4 if number(20, 4) == 0 => {
                assert_eq!(image.sync(), Ok(()));
                drop(image);
                image = open_again(path, open);
                opened += 1;
            }
            5..13 => {
                // A page keeps its name when it is moved.
                let was = ram.read_oob(from).ok().flatten();
                let oob = Oob { lpn: was.map_or(Lpn(step), |was| was.lpn), ..oob(step) };
                assert_eq!(image.copy(from, to, oob), ram.copy(from, to, oob));
            }
            13 => assert_eq!(image.program(to, oob(step), &[1]), Err(FlashError::WrongLength(1))),
            _ => {
                let content = if step % 16 == 0 { vec![] } else { vec![step as u8; 4096] };
                let done = image.program(to, oob(step), &content);
                assert_eq!(done, ram.program(to, oob(step), &content), "step {step}, {to:?}");
                programmed += u32::from(done.is_ok());
            }
        }
        assert_eq!(image.read_oob(from), ram.read_oob(from));
        assert_eq!(image.read(to, &mut data[0]), ram.read(to, &mut data[1]));
        assert!(data[0] == data[1]);
        assert_eq!(image.erase_count(block), ram.erase_count(block));
        assert_eq!(image.is_bad(block), ram.is_bad(block));
    }
    assert_eq!(image.health().bad_blocks, ram.health().bad_blocks);
    assert!(programmed > 300 && opened > 10, "{programmed} programs, opened {opened} times");
}

#[test]
fn it_answers_as_a_chip_in_memory_does_and_keeps_every_page() {
    let folder = TempDir::new().expect("a folder");
    behaves_as_memory(&file(&folder), &options(), Open::default());
    let any_order = Rules { in_order: false, ..options().rules };
    let replace = Options { replace: Replace::Unused, rules: any_order, ..options() };
    let wearing = Open { wears_out: true, punch_erased: true, ..Open::default() };
    behaves_as_memory(&file(&folder), &replace, wearing);
    let preallocated = Options { preallocate: true, replace: Replace::Unused, ..options() };
    behaves_as_memory(&file(&folder), &preallocated, Open::default());
    let replace = Options { replace: Replace::Unused, ..nor() };
    behaves_as_memory(&file(&folder), &replace, Open::default());
}

#[test]
fn direct_io_gives_the_same_where_the_file_system_allows_it() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let path = file(&folder);
    let direct = Open { direct: true, ..Open::default() };
    drop(Image::create(&path, &options()).expect("made"));
    match Image::open(&path, direct) {
        Ok(_) => {}
        Err(error) if matches!(error.what, Damage::Direct(_)) => {
            skip(&format!("direct I/O on an image: {error}"));
            return;
        }
        Err(error) => panic!("{error}"),
    }
    behaves_as_memory(&path, &Options { replace: Replace::Unused, ..options() }, direct);
    behaves_as_memory(&path, &Options { replace: Replace::Unused, ..nor() }, direct);
    // Pages that no disk can address.
    let odd = Geometry { page_size: 4100, ..GEOMETRY };
    drop(
        Image::create(&path, &Options { geometry: odd, replace: Replace::Unused, ..options() })
            .expect("made"),
    );
    let error = Image::open(&path, direct).expect_err("4100 bytes are no sectors").to_string();
    assert!(error.contains("chip.img: direct I/O is not possible"), "{error}");
    assert!(error.ends_with("open it without"), "{error}");
}

/// Why a file cannot be opened.
fn refusal(path: &Path) -> String {
    let error = Image::open(path, Open::default()).expect_err("refused").to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
    assert!(!error.contains('\n'), "{error}");
    error
}

fn patch(path: &Path, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).expect("there");
    file.write_all_at(bytes, at).expect("written");
}

#[test]
fn what_is_no_whole_image_is_refused_by_name_and_with_the_remedy() {
    let folder = TempDir::new().expect("a folder");
    let path = file(&folder);
    assert!(refusal(&path).contains("cannot open the file: No such file"));
    fs::write(&path, "not a chip").expect("written");
    assert!(refusal(&path).contains("not an image"));
    fs::write(&path, vec![7; 10_000]).expect("written");
    assert!(refusal(&path).contains("make one with `thermocline format`"));

    let taken = Image::create(&path, &options()).expect_err("is there").to_string();
    assert!(taken.contains("chip.img: exists already; remove it"), "{taken}");
    let image =
        Image::create(&path, &Options { replace: Replace::Unused, ..options() }).expect("made");
    let length = image.length();
    drop(image);
    let file = OpenOptions::new().write(true).open(&path).expect("there");
    for bytes in [1, 4096, 5000] {
        file.set_len(length - bytes).expect("shortened");
        let image = Image::open(&path, Open::default()).expect("only second copies were there");
        assert_eq!((image.length(), image.ailments()), (length, vec![]));
        drop(image);
        let whole = fs::read(&path).expect("readable");
        assert_eq!(whole.len() as u64, length);
        assert!(whole[..4096] == whole[whole.len() - 4096..], "the header stands twice");
    }
    file.set_len(length / 2).expect("shortened");
    let cut = refusal(&path);
    assert!(cut.contains("it was cut off; restore it from a complete copy"), "{cut}");
    assert!(cut.contains(&format!("{} bytes long, but its header says {length}", length / 2)));
    file.set_len(length + 1).expect("longer");
    assert!(refusal(&path).contains("it was written past its end; cut it to that length"));
    file.set_len(length).expect("as it was");
    Image::open(&path, Open::default()).expect("whole again");
    let stub = folder.path().join("stub.img");
    fs::write(&stub, &fs::read(&path).expect("readable")[..100]).expect("written");
    let stub = refusal(&stub);
    assert!(
        stub.contains("100 bytes long, and the header page of an image alone has 4096"),
        "{stub}"
    );
    assert!(stub.contains("restore it from a complete copy"), "{stub}");

    // Its last byte was cut off before.
    patch(&path, length - 4096, &fs::read(&path).expect("readable")[..4096]);
    patch(&path, 70, &[9]);
    let image = Image::open(&path, Open::default()).expect("the other copy is whole");
    assert!(image.ailments()[0].contains("the first copy of the header page"));
    drop(image);
    patch(&path, length - 4096 + 70, &[9]);
    assert!(refusal(&path).contains(
        "header page is damaged; copy the file away and let `thermocline repair` write it anew"
    ));
    patch(&path, 8, &[1]);
    let version = refusal(&path);
    assert!(version.contains("format version 1, and this program knows version 3; serve"));
}

#[test]
fn what_makes_no_chip_is_refused_and_leaves_no_file() {
    let folder = TempDir::new().expect("a folder");
    let path = file(&folder);
    let shape = |change: fn(&mut Options)| {
        let mut asked = nor();
        change(&mut asked);
        let error = Image::create(&path, &asked).expect_err("refused").to_string();
        assert!(!path.exists(), "{error}");
        error
    };
    assert!(shape(|o| o.geometry.page_size = 0).contains("page_size is 0"));
    assert!(shape(|o| o.geometry.header_pages = 0).contains("‹header-pages› is too small"));
    assert!(
        shape(|o| o.profile = "x".repeat(PROFILE_BYTES + 1))
            .contains("longer than 3072 bytes; shorten it")
    );
    let long = shape(|o| o.geometry.pages_per_block = 1 << 20);
    assert!(long.contains("an erase block has more than 262144 pages"), "{long}");
    let large = shape(|o| {
        o.geometry.page_size = u32::MAX;
        o.geometry.blocks_per_bank = 1 << 26;
    });
    assert!(large.contains("larger than a file can be"), "{large}");
    let nowhere = Image::create(Path::new("/nowhere/chip.img"), &nor()).expect_err("no folder");
    assert!(nowhere.to_string().contains("cannot create the file"), "{nowhere}");
}

#[test]
fn one_writer_or_many_readers() {
    let folder = TempDir::new().expect("a folder");
    let path = file(&folder);
    let mut writer = Image::create(&path, &options()).expect("made");
    writer.program(Ppn(0), oob(1), &[5; 4096]).expect("programmed");
    writer.sync().expect("synced");
    let reading = Open { read_only: true, ..Open::default() };
    for open in [Open::default(), reading] {
        let error = Image::open(&path, open).expect_err("in use");
        assert!(matches!(error.what, Damage::InUse(_)), "{error}");
        if let Damage::InUse(Some(who)) = &error.what {
            assert!(who.contains(&std::process::id().to_string()), "{who}");
        }
        assert!(error.to_string().contains("stop whoever uses it"), "{error}");
    }
    Image::open(&path, Open { lock: false, ..reading }).expect("who asks for no lock gets none");
    let replace = Image::create(&path, &Options { replace: Replace::Unused, ..options() });
    assert!(matches!(replace.expect_err("in use").what, Damage::InUse(_)));
    let mut data = [0; 4096];
    assert_eq!((writer.read(Ppn(0), &mut data), data), (Ok(()), [5; 4096]), "not emptied");
    drop(writer);

    let before = fs::read(&path).expect("read");
    let mut one = Image::open(&path, reading).expect("first reader");
    let mut two = Image::open(&path, reading).expect("second reader");
    assert!(Image::open(&path, Open::default()).is_err(), "no writer beside them");
    let refused = Err(FlashError::Medium(30));
    assert_eq!(one.program(Ppn(1), oob(1), &[]), refused);
    assert_eq!((one.erase(BlockId(0)), one.mark_bad(BlockId(0))), (refused, refused));
    assert_eq!(one.sync(), Ok(()));
    assert_eq!(two.read_oob(Ppn(0)), Ok(Some(oob(1))));
    drop((one, two));
    assert!(fs::read(&path).expect("read") == before);
}

#[test]
fn an_image_takes_disk_space_as_it_is_programmed_unless_it_takes_all_at_once() {
    let folder = TempDir::new().expect("a folder");
    let path = file(&folder);
    let geometry = Geometry { pages_per_block: 256, ..GEOMETRY };
    let space = || fs::metadata(&path).expect("there").blocks() * 512;
    let sparse = Options { geometry, ..options() };
    let mut image = Image::create(&path, &sparse).expect("made");
    assert_eq!(fs::metadata(&path).expect("there").len(), image.length());
    assert!(image.length() > geometry.capacity());
    assert!(space() < 64 << 10, "{} bytes", space());
    for page in 0..256 {
        image.program(Ppn(page), oob(page), &[1; 4096]).expect("programmed");
    }
    image.erase(BlockId(0)).expect("erased");
    image.sync().expect("synced");
    assert!(space() >= 1 << 20, "an erase keeps the space");
    drop(image);
    let punching = Open { punch_erased: true, ..Open::default() };
    let mut image = Image::open(&path, punching).expect("opened");
    image.erase(BlockId(0)).expect("erased");
    image.sync().expect("synced");
    assert!(space() < 128 << 10, "{} bytes", space());
    drop(image);
    let full = Options { preallocate: true, replace: Replace::Unused, ..sparse };
    let image = Image::create(&path, &full).expect("made");
    assert!(space() >= image.length());
}

/// A file system of one megabyte, where this process may mount one.
struct Tiny(TempDir);

impl Tiny {
    fn mount() -> Option<Self> {
        let folder = TempDir::new().expect("a folder");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tiny"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        mount.is_ok_and(|done| done.success()).then(|| Self(folder))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_that_is_full_loses_nothing() {
    let Some(tiny) = Tiny::mount() else {
        skip("a disk that is full: no tmpfs can be mounted here; it takes root");
        return;
    };
    let path = file(&tiny.0);
    let geometry = Geometry { pages_per_block: 64, ..GEOMETRY };
    let sparse = Options { geometry, ..options() };
    let ahead = Image::create(&path, &Options { preallocate: true, ..sparse.clone() });
    let error = ahead.expect_err("8 MiB in one").to_string();
    assert!(error.contains("cannot allocate the file: No space left on device"), "{error}");
    assert!(!path.exists());

    let mut image = Image::create(&path, &sparse).expect("made");
    let page = |number: u32| geometry.ppn(BlockId(number / 64), number % 64);
    let (mut lasting, mut failed) = (0, Ok(()));
    let full = (0..512).find(|&number| {
        failed = image.program(page(number), oob(number), &[number as u8; 4096]);
        if failed.is_ok() && number % 20 == 19 {
            failed = image.sync();
            lasting = if failed.is_ok() { number + 1 } else { lasting };
        }
        failed.is_err()
    });
    let full = full.expect("8 MiB do not fit into one");
    assert_eq!(failed, Err(FlashError::Medium(28)));
    assert!(lasting > 100, "page {lasting}");
    // As often as it is asked.
    assert_eq!((image.sync(), image.sync()), (failed, failed));
    assert_eq!(image.program(geometry.ppn(BlockId(7), 0), oob(1), &[]), failed);
    let mut data = [0; 4096];
    for number in 0..full {
        assert_eq!((image.read(page(number), &mut data), data), (Ok(()), [number as u8; 4096]));
    }
    drop(image);
    let mut image = Image::open(&path, Open::default()).expect("opened");
    for number in 0..lasting {
        assert_eq!((image.read(page(number), &mut data), data), (Ok(()), [number as u8; 4096]));
    }
}

#[test]
fn the_header_says_what_the_image_was_made_from() {
    let folder = TempDir::new().expect("a folder");
    let path = file(&folder);
    let made = Image::create(&path, &options()).expect("made").header().clone();
    let image = Image::open(&path, Open::default()).expect("opened");
    assert_eq!(image.header(), &made);
    assert_eq!((image.path(), image.header().profile.as_str()), (path.as_path(), "test"));
    assert_eq!((image.geometry(), image.in_order()), (&GEOMETRY, true));
    assert_eq!(image.header().rules, options().rules);
    drop(image);
    let other =
        Image::create(&path, &Options { replace: Replace::Unused, ..options() }).expect("made");
    assert_ne!(other.header().id, made.id);
}

#[test]
fn a_page_that_should_have_been_programmed_and_is_blank_is_an_error() {
    fn check(mut chip: impl Condition) {
        let (written, blank) = (GEOMETRY.ppn(BlockId(1), 0), GEOMETRY.ppn(BlockId(1), 1));
        let oob = Oob { lpn: Lpn(3), stream: 0, sequence: 1, time: 1, note: 0 };
        chip.program(written, oob, &[7; 4096]).expect("programmed");
        let mut page = [0; 4096];
        assert_eq!(chip.read_programmed(written, &mut page), Ok(()));
        assert_eq!(page, [7; 4096]);
        assert_eq!(chip.read_programmed(blank, &mut page), Err(FlashError::Unreadable(blank)));
        assert_eq!(chip.read(blank, &mut page), Ok(()), "who only looks sees ones");
        assert_eq!(page, [0xff; 4096]);
    }
    let folder = TempDir::new().expect("a folder");
    let image = Image::create(&folder.path().join("chip"), &options()).expect("made");
    check(image);
    check(Ram::new(GEOMETRY, options().rules));
    check(thermocline_media::Faulty::new(Ram::new(GEOMETRY, options().rules)));
}
