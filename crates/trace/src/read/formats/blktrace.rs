//! Binary blktrace, `<device>.blktrace.<cpu>`: 48-byte records in the byte order of the traced
//! host, each followed by a payload.
//!
//! Times are in nanoseconds; the volume is `major,minor`. Each CPU has its own file. Open them
//! together ([`crate::read::open_many`]) to merge them by time.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Op, Place, Request, TraceError,
    read::{
        action::Action,
        context::Context,
        decode::Decode,
        entry::{Entry, Parts, Special},
        fault::Fault,
        fields::request,
        input::Input,
        rwbs,
        sample::{Hit, LOOKED_AT},
    },
};

/// The part of the file names before the CPU's number.
const PER_CPU: &str = ".blktrace.";

/// Bytes of a record without its payload.
const RECORD: usize = 48;

/// Upper three bytes of a record's first word: "eat". The lowest byte is the version.
const MAGIC: u32 = 0x6561_7400;

/// Low half of the action word, for the actions that may represent a request.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;

/// Category bits, in the high half of the action word.
const WRITE: u32 = 0x0002;
const FLUSH: u32 = 0x0004;
const PACKET: u32 = 0x0200;
const NOTIFY: u32 = 0x0400;
const DISCARD: u32 = 0x2000;
const READ: u32 = 0x0001;

pub(super) const ENTRY: Entry = Entry {
    name: "blktrace",
    about: "blktrace binary: one file per CPU, either byte order; one action counts",
    source: "Linux include/uapi/linux/blktrace_api.h",
    special: Special {
        parts: Some(Parts { named: "*.blktrace.0, …", find: per_cpu_files }),
        ..Special::NONE
    },
    detect: |sample| {
        Order::of(sample.bytes).map(|_| Hit { score: 100, from: "the magic number of blktrace" })
    },
    open: |setup| {
        let action = code(setup.action.unwrap_or_else(|| preferred(&setup.inputs)));
        let mut missing = missing(&setup.inputs);
        let mut readers = Vec::new();
        for input in setup.inputs {
            // Only the first reader reports missing files.
            let missing = std::mem::take(&mut missing);
            readers.push(Box::new(Blktrace { input, action, missing }) as Box<dyn Decode>);
        }
        Ok(readers)
    },
};

/// blktrace's number of an action.
fn code(action: Action) -> u32 {
    match action {
        Action::Queue => QUEUE,
        Action::Issue => ISSUE,
        Action::Complete => COMPLETE,
    }
}

/// The action to use for all files of a trace, chosen by their first records, so that the files of
/// different CPUs use the same.
fn preferred(inputs: &[Input]) -> Action {
    let seen: Vec<u32> = inputs.iter().flat_map(|input| actions(input.window())).collect();
    Action::preferred(|action| seen.contains(&code(action)))
}

/// The actions of the first records.
fn actions(bytes: &[u8]) -> Vec<u32> {
    let bytes = &bytes[..bytes.len().min(LOOKED_AT)];
    let mut seen = Vec::new();
    let mut at = 0;
    while let Some(record) = bytes.get(at..at + RECORD) {
        let Some(order) = Order::of(record) else { break };
        let action = order.u32(record, 28);
        if (action >> 16) & NOTIFY == 0 {
            seen.push(action & 0xffff);
        }
        at += RECORD + usize::from(order.u16(record, 46));
    }
    seen
}

/// The files `sda.blktrace.0`, `sda.blktrace.1`, … for a directory, or for a prefix such as `sda`.
fn per_cpu_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if path.is_dir() {
        return files_in(path, "");
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(Vec::new());
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let prefix = match name.ends_with(".blktrace") {
        true => format!("{name}."),
        false => format!("{name}{PER_CPU}"),
    };
    files_in(directory, &prefix)
}

/// The per-CPU files in a directory whose names begin with `prefix`, by device and CPU.
fn files_in(directory: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some((device, rest)) = name.split_once(PER_CPU)
            && name.starts_with(prefix)
            && let Ok(cpu) = rest.split('.').next().unwrap_or_default().parse::<u32>()
        {
            let key = (device.to_owned(), cpu);
            found.push((key, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Missing files of the sets to which these belong, one line each: gaps in the numbers, and files
/// in the same folder that were not given.
fn missing(inputs: &[Input]) -> Vec<String> {
    let mut sets: BTreeMap<PathBuf, BTreeSet<u32>> = BTreeMap::new();
    for (set, cpu) in inputs.iter().filter_map(|input| set_of(input.path())) {
        sets.entry(set).or_default().insert(cpu);
    }
    let mut said = Vec::new();
    for (set, named) in sets {
        let beside = files_in(set.parent().unwrap_or(Path::new(".")), "").unwrap_or_default();
        let there =
            beside.iter().filter_map(|path| set_of(path)).filter(|(other, _)| *other == set);
        let there: BTreeSet<u32> = there.map(|(_, cpu)| cpu).collect();
        let name = set.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let list = |cpus: &[u32]| {
            let names = cpus.iter().take(5).map(|cpu| format!("{name}{PER_CPU}{cpu}"));
            let more = if cpus.len() > 5 { ", …" } else { "" };
            format!("{}{more}", names.collect::<Vec<_>>().join(", "))
        };
        let unnamed: Vec<u32> = there.difference(&named).copied().collect();
        let last = named.last().max(there.last()).copied().unwrap_or(0);
        let gone = (0..last).filter(|cpu| !named.contains(cpu) && !there.contains(cpu));
        let gone: Vec<u32> = gone.take(6).collect();
        if !unnamed.is_empty() {
            said.push(format!(
                "other processors' files lie beside it and are not read: {}; name the folder, or {}",
                list(&unnamed),
                set.display()
            ));
        }
        if !gone.is_empty() {
            said.push(format!(
                "files of processors are missing: {}; what they issued is not in the trace",
                list(&gone)
            ));
        }
    }
    said
}

/// The folder, device and CPU number of a per-CPU file.
fn set_of(path: &Path) -> Option<(PathBuf, u32)> {
    let (device, rest) = path.file_name()?.to_str()?.split_once(PER_CPU)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Some((folder.join(device), rest.split('.').next()?.parse().ok()?))
}

/// A byte order.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    /// The byte order in which a record's magic number is right.
    #[inline]
    fn of(record: &[u8]) -> Option<Order> {
        let magic = record.first_chunk::<4>()?;
        if u32::from_le_bytes(*magic) & !0xff == MAGIC {
            Some(Order::Little)
        } else if u32::from_be_bytes(*magic) & !0xff == MAGIC {
            Some(Order::Big)
        } else {
            None
        }
    }

    #[inline]
    fn u16(self, record: &[u8], at: usize) -> u16 {
        let bytes = [record[at], record[at + 1]];
        match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    fn u32(self, record: &[u8], at: usize) -> u32 {
        let (first, second) = (self.u16(record, at), self.u16(record, at + 2));
        match self {
            Order::Little => u32::from(second) << 16 | u32::from(first),
            Order::Big => u32::from(first) << 16 | u32::from(second),
        }
    }

    #[inline]
    fn u64(self, record: &[u8], at: usize) -> u64 {
        let (first, second) = (self.u32(record, at), self.u32(record, at + 4));
        match self {
            Order::Little => u64::from(second) << 32 | u64::from(first),
            Order::Big => u64::from(first) << 32 | u64::from(second),
        }
    }
}

struct Blktrace {
    input: Input,
    action: u32,
    /// Warnings about missing files.
    missing: Vec<String>,
}

impl Decode for Blktrace {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        for missing in self.missing.drain(..) {
            cx.remark(missing);
        }
        while out.len() < limit && self.input.need(RECORD, "a blktrace record")? {
            let record = &self.input.window()[..RECORD];
            let Some(order) = Order::of(record) else {
                let fault = Fault::with_remedy(
                    "no blktrace record begins here",
                    "the file is damaged, or was not written by blktrace; record or fetch it again",
                );
                return Err(fault.at(self.input.path(), Place::Byte(self.input.position())));
            };
            let payload = order.u16(record, 46) as usize;
            let found = self.request(order, record, cx)?;
            if !self.input.need(RECORD + payload, "the payload of a blktrace record")? {
                break;
            }
            self.input.consume(RECORD + payload);
            out.extend(found);
        }
        Ok(())
    }
}

impl Blktrace {
    /// The request of a record, if its action is the one in use.
    fn request(
        &self,
        order: Order,
        record: &[u8],
        cx: &mut Context,
    ) -> Result<Option<Request>, TraceError> {
        let action = order.u32(record, 28);
        let (kind, category) = (action & 0xffff, action >> 16);
        if category & NOTIFY != 0 || kind != self.action {
            return Ok(None);
        }
        if category & PACKET != 0 {
            cx.drop_row("SCSI commands passed through, without a sector");
            return Ok(None);
        }
        let len = order.u32(record, 24);
        let op = if len == 0 {
            (category & FLUSH != 0).then_some(Op::Flush)
        } else if category & DISCARD != 0 {
            Some(Op::Trim)
        } else if category & WRITE != 0 {
            Some(Op::Write)
        } else {
            (category & READ != 0).then_some(Op::Read)
        };
        let Some(op) = op else {
            cx.drop_row(rwbs::NO_OP);
            return Ok(None);
        };
        let sector = order.u64(record, 16);
        let found = match sector.checked_mul(cx.sector()) {
            Some(offset) => {
                let device = order.u32(record, 36);
                let name = |device: u32| format!("{},{}", device >> 20, device & 0xf_ffff);
                let volume = cx.volumes.numbered(device, name);
                request(order.u64(record, 8), op, offset, u64::from(len), volume)
            }
            None => Err(Fault::with_remedy(
                format!("sector {sector} is past the end of any device"),
                "the file is damaged; record or fetch it again",
            )),
        };
        found
            .map(Some)
            .map_err(|fault| fault.at(self.input.path(), Place::Byte(self.input.position())))
    }
}
