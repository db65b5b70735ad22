//! Keeps only some operations.

use super::retain::retain_batch;
use crate::{Contents, Op, Request, Source, TraceError};
use std::{fmt, str::FromStr};

const NAMES: [(Op, &str); 4] =
    [(Op::Read, "read"), (Op::Write, "write"), (Op::Trim, "trim"), (Op::Flush, "flush")];

/// A set of operations, written as `write,trim` or, by exclusion, `-trim,-flush`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpSet(u8);

impl OpSet {
    /// All operations.
    pub const ALL: OpSet = OpSet(0b1111);

    /// Exactly these operations.
    #[must_use]
    pub fn of(ops: &[Op]) -> Self {
        OpSet(ops.iter().fold(0, |set, op| set | bit(*op)))
    }

    /// Whether `op` is in the set.
    #[must_use]
    pub fn contains(self, op: Op) -> bool {
        self.0 & bit(op) != 0
    }
}

fn bit(op: Op) -> u8 {
    1 << op as u8
}

fn parse_op(name: &str) -> Option<Op> {
    let name = name.trim().to_ascii_lowercase();
    let singular = name.strip_suffix('s').unwrap_or(&name);
    NAMES
        .iter()
        .find(|(_, full)| *full == singular || full[..1] == *singular)
        .map(|(op, _)| *op)
        .or_else(|| (singular == "discard").then_some(Op::Trim))
}

impl FromStr for OpSet {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let refuse = || {
            TraceError::usage(
                format!("`{text}` names no operations"),
                "expected read, write, trim, flush with commas between, or -trim to leave one out",
            )
        };
        let mut set: Option<u8> = None;
        for part in text.split(',').map(str::trim) {
            match part.strip_prefix('-') {
                Some(name) => {
                    let op = parse_op(name).ok_or_else(refuse)?;
                    set = Some(set.unwrap_or(OpSet::ALL.0) & !bit(op));
                }
                None => set = Some(set.unwrap_or(0) | bit(parse_op(part).ok_or_else(refuse)?)),
            }
        }
        set.filter(|set| *set != 0).map(OpSet).ok_or_else(refuse)
    }
}

impl fmt::Display for OpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            NAMES.iter().filter(|(op, _)| self.contains(*op)).map(|(_, name)| *name).collect();
        f.write_str(&names.join(","))
    }
}

/// Drops the requests whose operation is not in a set.
pub struct KeepOps<S> {
    source: S,
    ops: OpSet,
    contents: Contents,
}

impl<S: Source> KeepOps<S> {
    /// Keeps `ops` of `source`.
    pub fn new(source: S, ops: OpSet) -> Self {
        KeepOps { source, ops, contents: Contents::default() }
    }
}

impl<S: Source> Source for KeepOps<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        let ops = self.ops;
        retain_batch(&mut self.source, batch, limit, &mut self.contents, |request| {
            ops.contains(request.op)
        })
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}
