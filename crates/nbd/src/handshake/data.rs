//! The data of options.

use crate::wire::{self, MAX_STRING};

/// What is wrong with an option's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Malformed(pub(super) &'static str);

const SHORT: Malformed = Malformed("the option ends too early");
const LONG: Malformed = Malformed("the option goes on after its end");

/// Parses a string of the protocol.
pub(super) fn string(bytes: &[u8]) -> Result<&str, Malformed> {
    if bytes.len() > MAX_STRING {
        return Err(Malformed("a string of more than 4096 bytes"));
    }
    match str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        Ok(_) => Err(Malformed("a string with a NUL")),
        Err(_) => Err(Malformed("a string that is not UTF-8")),
    }
}

/// The unparsed rest of an option's data.
#[derive(Clone, Copy, Debug)]
struct Data<'a>(&'a [u8]);

impl<'a> Data<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (first, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*first)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_be_bytes)
    }

    /// Takes a string preceded by its length.
    fn string(&mut self) -> Result<&'a str, Malformed> {
        let length = self.u32()? as usize;
        let (text, rest) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        string(text)
    }

    fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(LONG) }
    }
}

/// `NBD_OPT_INFO` and `NBD_OPT_GO`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExportRequest<'a> {
    pub(super) name: &'a str,
    /// The requested kinds of information, one bit each.
    wanted: u8,
}

impl<'a> ExportRequest<'a> {
    pub(super) fn parse(data: &'a [u8]) -> Result<ExportRequest<'a>, Malformed> {
        let mut data = Data(data);
        let name = data.string()?;
        let count = u16::from_be_bytes(data.take()?);
        let mut wanted = 0;
        for _ in 0..count {
            let kind = u16::from_be_bytes(data.take()?);
            if kind <= wire::INFO_BLOCK_SIZE {
                wanted |= 1 << kind;
            }
        }
        data.end()?;
        Ok(ExportRequest { name, wanted })
    }

    pub(super) fn wants(&self, kind: u16) -> bool {
        self.wanted & 1 << kind != 0
    }
}

/// The queries of `NBD_OPT_LIST_META_CONTEXT` and `NBD_OPT_SET_META_CONTEXT`, all well-formed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queries<'a>(Data<'a>);

impl<'a> Queries<'a> {
    /// Parses the export's name and the queries.
    pub(super) fn parse(data: &'a [u8]) -> Result<(&'a str, Queries<'a>), Malformed> {
        let mut data = Data(data);
        let name = data.string()?;
        let count = data.u32()?;
        let queries = Queries(data);
        for _ in 0..count {
            // Each takes at least four bytes, so a false count ends soon.
            if !data.string()?.contains(':') {
                return Err(Malformed("a query without a namespace and a colon"));
            }
        }
        data.end()?;
        Ok((name, queries))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.0.is_empty()
    }
}

impl<'a> Iterator for Queries<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0.string().ok()
    }
}
