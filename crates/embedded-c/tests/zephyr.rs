//! FAT on the disk for Zephyr: `fatfs` writes files, sector by sector, to a program in which the driver runs on NAND in memory. The power
//! fails within a file; those that were closed before are there.

use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use fatfs::{FileSystem, FormatVolumeOptions, FsOptions};

mod library;

const SECTOR: usize = 512;

/// The program, and where the file system is in it.
struct Disk {
    input: ChildStdin,
    output: ChildStdout,
    child: Child,
    sectors: u64,
    at: u64,
}

impl Disk {
    fn start(program: &Path) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built");
        let input = child.stdin.take().expect("piped");
        let output = child.stdout.take().expect("piped");
        let mut disk = Self { input, output, child, sectors: 0, at: 0 };
        let mut sectors = [0; 4];
        disk.ask(b'n', 0, &[], &mut sectors).expect("it counts its sectors");
        disk.sectors = u32::from_le_bytes(sectors).into();
        disk
    }

    fn ask(&mut self, what: u8, number: u64, data: &[u8], into: &mut [u8]) -> io::Result<()> {
        let mut code = [0; 4];
        self.input.write_all(&[what])?;
        self.input.write_all(&(number as u32).to_le_bytes())?;
        self.input.write_all(data)?;
        self.output.read_exact(&mut code)?;
        match i32::from_le_bytes(code) {
            0 => self.output.read_exact(into),
            code => Err(io::Error::from_raw_os_error(-code)),
        }
    }

    /// A part of the sector at hand, at most so long.
    fn part(&self, length: usize) -> (u64, usize, usize) {
        let from = (self.at % SECTOR as u64) as usize;
        let left = self.sectors * SECTOR as u64 - self.at;
        (self.at / SECTOR as u64, from, length.min(SECTOR - from).min(left as usize))
    }
}

impl Read for Disk {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (number, from, length) = self.part(into.len());
        let mut sector = [0; SECTOR];
        self.ask(b'r', number, &[], &mut sector)?;
        into[..length].copy_from_slice(&sector[from..from + length]);
        self.at += length as u64;
        Ok(length)
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (number, from, length) = self.part(bytes.len());
        let mut sector = [0; SECTOR];
        self.ask(b'r', number, &[], &mut sector)?;
        sector[from..from + length].copy_from_slice(&bytes[..length]);
        self.ask(b'w', number, &sector, &mut [])?;
        self.at += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.ask(b's', 0, &[], &mut [])
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => (self.sectors * SECTOR as u64).saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

fn text(number: u64) -> String {
    format!("measurement {number}\n").repeat(60)
}

fn volume(disk: &mut Disk) -> io::Result<FileSystem<&mut Disk>> {
    disk.at = 0;
    FileSystem::new(disk, FsOptions::new())
}

/// Writes a file, closes it, and syncs the disk.
fn write_file(disk: &mut Disk, number: u64) -> io::Result<()> {
    {
        let volume = volume(disk)?;
        let mut file = volume.root_dir().create_file(&format!("{}.txt", number % 20))?;
        file.truncate()?;
        file.write_all(text(number).as_bytes())?;
        file.flush()?;
    }
    disk.flush()
}

/// The number of the measurement that a file holds.
fn read_file(disk: &mut Disk, name: u64) -> io::Result<String> {
    let mut found = String::new();
    let volume = volume(disk)?;
    volume.root_dir().open_file(&format!("{name}.txt"))?.read_to_string(&mut found)?;
    Ok(found)
}

#[test]
fn files_on_fat_survive_a_power_cut() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let zephyr = here.join("../../embedded/zephyr");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("serve");
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]);
    for definition in ["THERMOCLINE_FORMAT=1", "DISK_LOG_LEVEL=3", "KERNEL_INIT_PRIORITY_DEVICE=50"]
    {
        compile.arg(format!("-DCONFIG_{definition}"));
    }
    for include in ["tests", "tests/include", "include"] {
        compile.arg("-I").arg(zephyr.join(include));
    }
    compile.arg("-I").arg(here.join("include"));
    for source in ["tests/zephyr.c", "tests/serve.c", "disk.c", "chip.c"] {
        compile.arg(zephyr.join(source));
    }
    library::run(
        compile.arg(library::archive()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program),
    );

    let mut disk = Disk::start(&program);
    fatfs::format_volume(&mut disk, FormatVolumeOptions::new()).expect("a FAT");
    // Two rounds of all names, and one that is cut off.
    let (whole, mut number) = (40, 0);
    while number < whole {
        write_file(&mut disk, number).expect("written");
        number += 1;
    }
    for cut in 0..12 {
        disk.ask(b'f', cut, &[], &mut []).expect("armed");
        write_file(&mut disk, number).expect_err("the power failed");
        disk.ask(b'p', 0, &[], &mut []).expect("it starts again");
        for name in 0..20 {
            if name != number % 20 {
                let expected = (0..number).rev().find(|written| written % 20 == name);
                let found = read_file(&mut disk, name).expect("it is there");
                assert!(Some(&found) == expected.map(text).as_ref(), "file {name}, cut {cut}");
            }
        }
        write_file(&mut disk, number).expect("written again");
        number += 1;
    }
    drop(disk.input);
    assert!(disk.child.wait().expect("it ends").success());
}
