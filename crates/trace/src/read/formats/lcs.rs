//! libCacheSim's LCS, versions 2 to 8, little endian: a header of 8192 bytes (1024 in early files)
//! that begins and ends with a magic number, then packed records.
//!
//! A record has u32 seconds, a u64 object, the object's size (u32; i64 from version 3 on), an
//! operation of 8 bits and a tenant of 24, then fields only for caches. In block traces the object
//! is a block number, in sectors unless the user gives another unit. Version 1 has no operation and
//! is refused.

use crate::{
    Op, Place, Request, TraceError,
    read::{
        context::Context,
        decode::Decode,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::request,
        input::Input,
        sample::Hit,
    },
};

/// The first and the last eight bytes of a header, as a little-endian number.
pub(super) const MAGIC: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();

/// Bytes of a header in current and in early files.
const HEADERS: [usize; 2] = [8192, 1024];

pub(super) const ENTRY: Entry = Entry {
    name: "lcs",
    about: "libCacheSim LCS from version 2 on: seconds, 512 B block, bytes, operation, tenant",
    source: "github.com/1a1a11a/libCacheSim, lcs.h",
    special: Special::NONE,
    detect: |sample| {
        Header::of(sample.bytes).map(|_| Hit { score: 100, from: "the magic numbers of LCS" })
    },
    open: |setup| {
        setup.each(|mut input| {
            let header = Header::of(input.window()).ok_or_else(|| TraceError::Format {
                path: input.path().to_owned(),
                what: "this is no LCS trace of a version with operations (2 to 8)".into(),
                remedy:
                    "name the right format with ‹trace-format›, or bring the block trace it was made from"
                        .into(),
            })?;
            input.consume(header.bytes);
            Ok(Lcs { input, header })
        })
    },
};

/// The layout of the records, from the header.
#[derive(Clone, Copy)]
struct Header {
    bytes: usize,
    record: usize,
    /// Offset of the word of operation and tenant. The size of the object precedes it.
    op_at: usize,
}

impl Header {
    /// The header at the start of a trace, if its records have operations.
    fn of(bytes: &[u8]) -> Option<Self> {
        let ends = |length: &&usize| bytes.get(**length - 8..**length) == Some(&MAGIC);
        let length = HEADERS.iter().find(ends).filter(|_| bytes.starts_with(&MAGIC))?;
        let (record, op_at) = match u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?) {
            2 => (28, 16),
            3 => (36, 20),
            version @ 4..=8 => (36 + (4 << (version - 4)), 20),
            _ => return None,
        };
        Some(Self { bytes: *length, record, op_at })
    }

    fn request(&self, record: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let number = |at: usize, bytes: usize| {
            record[at..at + bytes]
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let (seconds, object) = (number(0, 4), number(4, 8));
        let (size, word) = (number(12, self.op_at - 12), number(self.op_at, 4));
        let Some(op) = operation(word as u8) else {
            cx.drop_row("the operation is none of a block device");
            return Ok(None);
        };
        let unit = cx.sector();
        let offset = object.checked_mul(unit).ok_or_else(|| {
            Fault::with_remedy(
                format!("object {object} is past the end of any device in units of {unit} bytes"),
                "the objects are hashes or bytes: try ‹sector-size 1›, or bring the block trace",
            )
        })?;
        let volume = cx.volumes.numbered((word >> 8) as u32, |tenant| tenant.to_string());
        request(seconds * 1_000_000_000, op, offset, size, volume).map(Some)
    }
}

/// The operation on a device.
fn operation(code: u8) -> Option<Op> {
    match code {
        // get, gets, read
        1 | 2 | 12 => Some(Op::Read),
        // set, add, cas, replace, append, prepend, incr, decr, write, update
        3..=8 | 10 | 11 | 13 | 14 => Some(Op::Write),
        // delete
        9 => Some(Op::Trim),
        _ => None,
    }
}

struct Lcs {
    input: Input,
    header: Header,
}

impl Decode for Lcs {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        if !cx.sector_is_given() {
            cx.remark(
                "object numbers are taken for sectors of 512 bytes; name another unit with ‹sector-size›",
            );
        }
        let size = self.header.record;
        while out.len() < limit && self.input.need(size, "an LCS record")? {
            let found = self
                .header
                .request(&self.input.window()[..size], cx)
                .map_err(|fault| fault.at(self.input.path(), Place::Byte(self.input.position())))?;
            self.input.consume(size);
            out.extend(found);
        }
        Ok(())
    }
}
