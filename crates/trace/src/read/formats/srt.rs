//! HP SRT binary, version 1.3 (cello, hplajw, snake): a text header up to a form feed, then
//! big-endian records.
//!
//! Times are seconds and microseconds since the header's `tracedate`. The sector number is absolute
//! on its disk, in the sector size that the header gives for that disk; the volume is the disk.
//!
//! The last word of a record describes the buffer. Its upper half, without bit 5, is the type: 1
//! file data, 2 inodes, 3 directories, 4 indirect blocks, 5 the superblock, 6 cylinder groups, 7
//! paging. This is not documented; it is inferred from a week of hplajw. There 5 is one address of
//! 2 KiB, 6 are 47 addresses of 2 KiB, 3 are fragments written synchronously, 2 are whole blocks at
//! the heads of cylinder groups, and 7 lies in the swap sections of the header. `srt-kinds` makes a
//! volume of each disk and kind.

use crate::{
    Op, Place, Request, TraceError,
    read::{
        context::Context,
        decode::Decode,
        entry::{Entry, Special},
        fault::Fault,
        fields::request,
        input::Input,
        sample::Hit,
    },
};

const MAGIC: &[u8] = b"$$TR_IOREC-1.3";

/// Ends the header.
const FORM_FEED: u8 = 0x0c;

/// Maximum length of a header in bytes.
const LONGEST_HEADER: usize = 1 << 20;

/// Bytes of a record that are the same in all versions.
const FIXED: usize = 52;

/// Maximum length of a record in bytes (text records include their text).
const LONGEST_RECORD: usize = 64 << 10;

/// Record types: low half of the id.
const SHORT_IO: u32 = 1;
const SUSPECT_IO: u32 = 4;

/// Bit of the flags that means a read.
const READ: u32 = 1;

/// Default bytes of a sector, if the header does not give them.
const SECTOR: u64 = 512;

pub(super) const ENTRY: Entry = Entry {
    name: "srt",
    about: "HP SRT binary 1.3 (cello, hplajw, snake): times since tracedate, sectors of the disk",
    source: "HP Labs; DiskSim 4.0, disksim_hptrace.h",
    special: Special::NONE,
    detect: |sample| {
        sample.bytes.starts_with(MAGIC).then_some(Hit { score: 100, from: "its header" })
    },
    open: |setup| {
        setup.each(|mut input| {
            let header = take_header(&mut input)?;
            Ok(Srt { sectors: sector_sizes(&header), kinds: false, input })
        })
    },
};

/// The format with a volume for each kind of data.
pub(super) const KINDS: Entry = Entry {
    name: "srt-kinds",
    about: "the same, each disk taken apart: 0-data, 0-metadata (inodes, directories, …), 0-paging",
    source: "HP Labs; the types of buffers are our reading of a trace",
    special: Special::NONE,
    detect: |_| None,
    open: |setup| {
        setup.each(|mut input| {
            let header = take_header(&mut input)?;
            Ok(Srt { sectors: sector_sizes(&header), kinds: true, input })
        })
    },
};

/// Names of the kinds of data.
const KIND_NAMES: [&str; 4] = ["data", "metadata", "paging", "other"];

/// Index of the kind of a buffer, from the last word of its record.
const fn kind_of(info: u32) -> u32 {
    match (info >> 16) & 0x1f {
        1 => 0,
        2..=6 => 1,
        7 => 2,
        _ => 3,
    }
}

/// Skips the header and returns it.
fn take_header(input: &mut Input) -> Result<Vec<u8>, TraceError> {
    let mut looked = 0;
    loop {
        let bytes = input.window();
        if let Some(at) = memchr::memchr(FORM_FEED, &bytes[looked..]) {
            let header = bytes[..looked + at].to_vec();
            input.consume(looked + at + 1);
            if header.starts_with(MAGIC) {
                return Ok(header);
            }
            break;
        }
        looked = bytes.len();
        if looked > LONGEST_HEADER || !input.fill()? {
            break;
        }
    }
    Err(TraceError::Format {
        path: input.path().to_owned(),
        what: "this is no SRT trace of version 1.3: the header $$TR_IOREC-1.3 … up to a form \
               feed is missing"
            .into(),
        remedy:
            "convert other versions with HP's tools, or name the right format with ‹trace-format›"
                .into(),
    })
}

/// Bytes in a sector of each disk: `disks = { 0 -> { … sectorsize = 256, … }, 1 -> { … } }`.
fn sector_sizes(header: &[u8]) -> Vec<(u32, u64)> {
    let text = String::from_utf8_lossy(header);
    let (mut sizes, mut depth, mut disk) = (Vec::new(), 0_u32, 0_u32);
    for line in text.lines().map(str::trim) {
        if depth == 1
            && let Some((number, _)) = line.split_once("->")
            && let Ok(number) = number.trim().parse()
        {
            disk = number;
        }
        if let Some((key, value)) = line.split_once('=')
            && key.trim() == "sectorsize"
            && let Ok(size) = value.trim().trim_end_matches([',', ';']).trim_end().parse()
            && size > 0
        {
            sizes.push((disk, size));
        }
        let count = |brace| line.matches(brace).count() as u32;
        depth = (depth + count('{')).saturating_sub(count('}'));
    }
    sizes
}

struct Srt {
    input: Input,
    /// The bytes in a sector of each disk.
    sectors: Vec<(u32, u64)>,
    /// Whether each kind of data is a volume.
    kinds: bool,
}

impl Decode for Srt {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        while out.len() < limit && self.input.need(8, "an SRT record")? {
            let size = word(self.input.window(), 0) as usize;
            if !(8..=LONGEST_RECORD).contains(&size) {
                return Err(self.damaged(format!("an SRT record says it has {size} bytes")));
            }
            if !self.input.need(size, "an SRT record")? {
                break;
            }
            let record = &self.input.window()[..size];
            let kind = word(record, 4) & 0xffff;
            if kind == SHORT_IO || kind == SUSPECT_IO {
                if size < FIXED {
                    let what = format!("an I/O record has {size} bytes, not {FIXED} or more");
                    return Err(self.damaged(what));
                }
                match self.request(record, cx) {
                    Ok(found) => out.push(found),
                    Err(fault) => {
                        let place = Place::Byte(self.input.position());
                        return Err(fault.at(self.input.path(), place));
                    }
                }
            } else {
                cx.drop_row("SRT records other than short I/O (text, file system events)");
            }
            self.input.consume(size);
        }
        Ok(())
    }
}

impl Srt {
    fn damaged(&self, what: String) -> TraceError {
        Fault::with_remedy(what, "the file is damaged; fetch it again")
            .at(self.input.path(), Place::Byte(self.input.position()))
    }

    fn request(&self, record: &[u8], cx: &mut Context) -> Result<Request, Box<Fault>> {
        let (seconds, micros) = (word(record, 8), word(record, 12));
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1000;
        let disk = (word(record, 32) >> 8) & 0xff;
        let told = self.sectors.iter().find(|(number, _)| *number == disk);
        let sector = cx.sector_or(told.map_or(SECTOR, |(_, size)| *size));
        let number = u64::from(word(record, 28));
        let offset = number.checked_mul(sector).ok_or_else(|| {
            Fault::with_remedy(
                format!("sector {number} of {sector} bytes is past the end of any device"),
                "the file is damaged; fetch it again",
            )
        })?;
        let op = if word(record, 44) & READ != 0 { Op::Read } else { Op::Write };
        let volume = if self.kinds {
            let kinds = KIND_NAMES.len() as u32;
            cx.volumes.numbered(disk * kinds + kind_of(word(record, 48)), |number| {
                format!("{}-{}", number / kinds, KIND_NAMES[(number % kinds) as usize])
            })
        } else {
            cx.volumes.numbered(disk, |disk| disk.to_string())
        };
        request(time, op, offset, u64::from(word(record, 24)), volume)
    }
}

/// A big-endian word.
#[inline]
fn word(record: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}
