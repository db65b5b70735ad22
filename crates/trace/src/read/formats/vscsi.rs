//! CloudPhysics vSCSI, binary versions 1 (32-byte records) and 2 (40 bytes), little endian.
//!
//! Times are in microseconds from an arbitrary origin, the block number in units of 512 bytes, the
//! length in bytes. The operation is the SCSI opcode. There is one volume.

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

/// Number of records that determine the version.
const LOOKED_AT: usize = 64;

pub(super) const ENTRY: Entry = Entry {
    name: "vscsi",
    about: "CloudPhysics vSCSI binary v1, v2: SCSI opcode, 512 B block, bytes, microseconds",
    source: "github.com/1a1a11a/libCacheSim, vscsi.h",
    special: Special::NONE,
    detect: |sample| {
        Layout::of(sample.bytes)
            .map(|_| Hit { score: 95, from: "records with a version and a SCSI opcode" })
    },
    open: |setup| {
        setup.each(|input| match Layout::of(input.window()) {
            Some(layout) => Ok(Vscsi { input, layout }),
            None => Err(TraceError::Format {
                path: input.path().to_owned(),
                what: "the first records are neither vSCSI version 1 nor 2".into(),
                remedy: "name the right format with ‹trace-format›".into(),
            }),
        })
    },
};

/// The offsets of the fields in a record of a version.
#[derive(Clone, Copy)]
struct Layout {
    version: u8,
    record: usize,
    command_at: usize,
    version_at: usize,
    length_at: usize,
}

const VERSION_1: Layout =
    Layout { version: 1, record: 32, command_at: 12, version_at: 14, length_at: 4 };
const VERSION_2: Layout =
    Layout { version: 2, record: 40, command_at: 0, version_at: 2, length_at: 8 };

/// Block number and time have the same offsets in both versions.
const BLOCK_AT: usize = 16;
const TIME_AT: usize = 24;

impl Layout {
    /// The version of the records at the start of the trace.
    fn of(bytes: &[u8]) -> Option<Layout> {
        [VERSION_2, VERSION_1].into_iter().find(|layout| {
            let mut records = bytes.chunks_exact(layout.record).take(LOOKED_AT).peekable();
            records.peek().is_some() && records.all(|r| layout.fits(r) && layout.command(r) <= 0xff)
        })
    }

    /// Whether a record is marked with this version.
    #[inline]
    fn fits(&self, record: &[u8]) -> bool {
        u16_at(record, self.version_at) >> 8 == u16::from(self.version)
    }

    #[inline]
    fn command(&self, record: &[u8]) -> u16 {
        u16_at(record, self.command_at)
    }
}

struct Vscsi {
    input: Input,
    layout: Layout,
}

impl Decode for Vscsi {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        let size = self.layout.record;
        while out.len() < limit && self.input.need(size, "a vSCSI record")? {
            let record = &self.input.window()[..size];
            let found = self
                .layout
                .request(record, cx)
                .map_err(|fault| fault.at(self.input.path(), Place::Byte(self.input.position())))?;
            self.input.consume(size);
            out.extend(found);
        }
        Ok(())
    }
}

impl Layout {
    #[inline]
    fn request(&self, record: &[u8], cx: &mut Context) -> Result<Option<Request>, Box<Fault>> {
        let damaged = |what: String| {
            Fault::with_remedy(what, "the file is damaged or not vSCSI; fetch it again")
        };
        if !self.fits(record) {
            let version = u16_at(record, self.version_at) >> 8;
            return Err(damaged(format!(
                "the record's version is {version}, that of the first is {}",
                self.version
            )));
        }
        let command = self.command(record);
        let op = match command {
            0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
            0x0a | 0x2a | 0xaa | 0x8a => Op::Write,
            0x35 | 0x91 => Op::Flush,
            _ => {
                cx.drop_row("SCSI commands that are neither reads, writes nor cache flushes");
                return Ok(None);
            }
        };
        let block = u64_at(record, BLOCK_AT);
        let offset = block
            .checked_mul(cx.sector())
            .ok_or_else(|| damaged(format!("block {block} is past the end of any device")))?;
        let time_us = u64_at(record, TIME_AT);
        let time = time_us
            .checked_mul(1000)
            .ok_or_else(|| damaged(format!("the time, {time_us} µs, is past 584 years")))?;
        let len = u64::from(u32_at(record, self.length_at));
        request(time, op, offset, len, cx.volumes.named(b"0")).map(Some)
    }
}

#[inline]
fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

#[inline]
fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from(u16_at(record, at + 2)) << 16 | u32::from(u16_at(record, at))
}

#[inline]
fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from(u32_at(record, at + 4)) << 32 | u64::from(u32_at(record, at))
}
