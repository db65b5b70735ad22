//! A file that emulates a zoned device, with all its rules, for those who have none.
//!
//! A blank file becomes one when it is opened for writing. Its first page says its shape, the table of zones
//! stands behind, and the zones behind that. A file of the same name with `.zones` appended may set the shape,
//! a line each: `zone-size 4MiB`, `capacity 3MiB`, `conventional 2`, `max-open 8`, `max-active 12`, `block 512`,
//! `read-only 7`, `offline 9`.

use std::{
    fs, io,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    device::{Condition, Device, Kind, Shape, Zone},
    rules::Zones,
};
use crate::{
    MediumError,
    image::{
        Damage, ImageError,
        disk::{Disk, How},
        entry::refused,
        store::Store,
    },
    record::checksum,
};

const MAGIC: [u8; 8] = *b"THERMZON";
const PAGE: usize = 4096;
/// Bytes of a zone's entry in the table: capacity, pointer, condition.
const ENTRY: usize = 32;
/// Bytes at either end of a file that are looked at before it counts as blank.
const ENDS: u64 = 1 << 20;

/// A file as a zoned device.
#[derive(Debug)]
pub(super) struct ZonedFile {
    disk: Disk,
    zones: Mutex<Zones>,
}

/// The settings of a new one.
#[derive(Debug)]
struct Settings {
    shape: Shape,
    capacity: u64,
    conventional: u32,
    read_only: Vec<u32>,
    offline: Vec<u32>,
}

impl ZonedFile {
    pub(super) fn open(path: &Path, read_only: bool) -> Result<Self, MediumError> {
        let at = |what| refused(ImageError { path: path.into(), what });
        let how = How { write: !read_only, lock: true, direct: false };
        let disk = Disk::open(path, how).map_err(at)?;
        let failed = |error| at(Damage::System { doing: "read the file", error });
        let length = disk.len().map_err(failed)?;
        let mut head = vec![0; PAGE];
        if length >= PAGE as u64 {
            disk.read_at(&mut head, 0).map_err(failed)?;
        }
        let zones = if head.starts_with(&MAGIC) {
            read_table(&disk, &head).map_err(failed)?.ok_or_else(|| {
                MediumError::Unusable(format!(
                    "{}: the head of the emulated zones is damaged; make a new file, and restore a backup",
                    path.display()
                ))
            })?
        } else {
            if !is_blank(&disk, length).map_err(failed)? {
                return Err(MediumError::Usage(format!(
                    "{}: is not blank, and does not begin as an emulated zoned device; name a zoned block \
                     device, or make a blank file of some size with `truncate`",
                    path.display()
                )));
            }
            if read_only {
                return Err(MediumError::Unusable(format!(
                    "{}: a blank file; `thermocline format zoned:{}` makes an emulated zoned device of it",
                    path.display(),
                    path.display()
                )));
            }
            let zones = Settings::of(path, length)?.zones();
            let made = write_table(&disk, &zones).and_then(|()| disk.sync());
            made.map_err(|error| at(Damage::System { doing: "write the file", error }))?;
            zones
        };
        Ok(Self { disk, zones: Mutex::new(zones) })
    }

    fn zones(&self) -> MutexGuard<'_, Zones> {
        self.zones.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_entry(&self, zones: &Zones, number: usize) -> io::Result<()> {
        self.disk.write_at(&entry(&zones.zones[number]), (PAGE + number * ENTRY) as u64)
    }
}

/// Where the zones begin.
const fn data_at(zones: u32) -> u64 {
    ((PAGE + zones as usize * ENTRY).next_multiple_of(PAGE)) as u64
}

fn is_blank(disk: &Disk, length: u64) -> io::Result<bool> {
    let ends = length.min(ENDS);
    let mut bytes = vec![0; ends as usize];
    for at in [0, length - ends] {
        disk.read_at(&mut bytes, at)?;
        if bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn entry(zone: &Zone) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    entry[..8].copy_from_slice(&zone.capacity.to_le_bytes());
    entry[8..16].copy_from_slice(&zone.pointer.to_le_bytes());
    entry[16] = match zone.condition {
        Condition::NoPointer => 0,
        Condition::Empty => 1,
        Condition::Open | Condition::Closed => 4,
        Condition::ReadOnly => 13,
        Condition::Full => 14,
        Condition::Offline => 15,
    };
    entry
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn write_table(disk: &Disk, zones: &Zones) -> io::Result<()> {
    let mut table = Vec::new();
    for zone in &zones.zones {
        table.extend_from_slice(&entry(zone));
    }
    disk.write_at(&table, PAGE as u64)?;
    let Shape { block, zone, zones, most_open, most_active } = zones.shape;
    let mut head = vec![0; PAGE];
    head[..8].copy_from_slice(&MAGIC);
    let values = [zone, block.into(), zones.into(), most_open.into(), most_active.into()];
    for (at, value) in (8..).step_by(8).zip(values) {
        head[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    let sum = checksum(&head[..48]);
    head[48..52].copy_from_slice(&sum.to_le_bytes());
    disk.write_at(&head, 0)
}

/// The zones of a file; nothing where its head is damaged.
fn read_table(disk: &Disk, head: &[u8]) -> io::Result<Option<Zones>> {
    let value = |at| number(head, at) as u32;
    if checksum(&head[..48]).to_le_bytes() != head[48..52] {
        return Ok(None);
    }
    let shape = Shape {
        zone: number(head, 8),
        block: value(16),
        zones: value(24),
        most_open: value(32),
        most_active: value(40),
    };
    let mut table = vec![0; shape.zones as usize * ENTRY];
    disk.read_at(&mut table, PAGE as u64)?;
    let zone = |(entry, index): (&[u8], u64)| Zone {
        start: index * shape.zone,
        capacity: number(entry, 0),
        pointer: number(entry, 8),
        kind: if entry[16] == 0 { Kind::Conventional } else { Kind::Sequential },
        condition: match entry[16] {
            0 => Condition::NoPointer,
            1 => Condition::Empty,
            4 => Condition::Closed,
            13 => Condition::ReadOnly,
            14 => Condition::Full,
            _ => Condition::Offline,
        },
    };
    let zones = table.chunks_exact(ENTRY).zip(0..).map(zone).collect();
    Ok(Some(Zones::of(shape, zones)))
}

impl Settings {
    fn of(path: &Path, length: u64) -> Result<Self, MediumError> {
        let mut file = path.as_os_str().to_owned();
        file.push(".zones");
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(MediumError::Unusable(format!("{}: {error}", file.display())));
            }
        };
        let named =
            |why: String| MediumError::Usage(format!("{}: {why}", Path::new(&file).display()));
        Self::parse(&text, length).map_err(named)
    }

    fn parse(text: &str, length: u64) -> Result<Self, String> {
        // Some 64 zones, unless that is said.
        let about = (length / 64).clamp(64 << 10, 256 << 20);
        let mut zone = 1 << about.ilog2();
        let (mut block, mut most_open, mut most_active, mut conventional) = (4096, 0, 0, 0);
        let (mut capacity, mut read_only, mut offline) = (None, Vec::new(), Vec::new());
        for (line, number) in text.lines().zip(1..) {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(key) = words.next() else { continue };
            let value = words.next().unwrap_or_default();
            let bytes = bytes(value).filter(|_| words.next().is_none());
            let bytes = bytes.ok_or_else(|| {
                format!(
                    "line {number}: `{line}`; write a name and a number, such as `capacity 3MiB`"
                )
            })?;
            let count = u32::try_from(bytes).unwrap_or(u32::MAX);
            match key {
                "zone-size" => zone = bytes,
                "capacity" => capacity = Some(bytes),
                "block" => block = count,
                "max-open" => most_open = count,
                "max-active" => most_active = count,
                "conventional" => conventional = count,
                "read-only" => read_only.push(count),
                "offline" => offline.push(count),
                _ => {
                    return Err(format!(
                        "line {number}: there is no `{key}`; there are zone-size, capacity, block, \
                         max-open, max-active, conventional, read-only and offline"
                    ));
                }
            }
        }
        let capacity = capacity.unwrap_or(zone);
        let blocks = u64::from(block);
        if !matches!(block, 512 | 4096) {
            return Err(format!("block {block}: blocks have 512 or 4096 bytes"));
        }
        if zone == 0 || !zone.is_multiple_of(blocks) || !capacity.is_multiple_of(blocks) {
            return Err("zone-size and capacity are whole blocks".into());
        }
        if capacity > zone || capacity == 0 {
            return Err(format!("capacity {capacity}: a zone has {zone} bytes"));
        }
        let mut zones = u32::try_from(length / zone).unwrap_or(u32::MAX);
        while zones > 0 && data_at(zones) + u64::from(zones) * zone > length {
            zones -= 1;
        }
        if zones == 0 {
            return Err(format!("a file of {length} bytes has no room for a zone of {zone}"));
        }
        let shape = Shape { block, zone, zones, most_open, most_active };
        Ok(Self { shape, capacity, conventional, read_only, offline })
    }

    fn zones(&self) -> Zones {
        let mut zones = Zones::new(self.shape, self.capacity, self.conventional);
        let conditions =
            [(&self.read_only, Condition::ReadOnly), (&self.offline, Condition::Offline)];
        for (numbers, condition) in conditions {
            for number in numbers {
                if let Some(zone) = zones.zones.get_mut(*number as usize) {
                    zone.condition = condition;
                }
            }
        }
        zones
    }
}

/// A number, or a size with `KiB`, `MiB` or `GiB`.
fn bytes(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let of = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (digits, shift) = of.unwrap_or((text, 0));
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

impl Device for ZonedFile {
    fn shape(&self) -> Shape {
        self.zones().shape
    }

    fn report(&self) -> io::Result<Vec<Zone>> {
        Ok(self.zones().zones.clone())
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let zones = self.zones();
        zones.read(into.len(), at)?;
        self.disk.read_at(into, data_at(zones.shape.zones) + at)
    }

    /// The data first: the pointer may lag behind them, and not run ahead.
    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()> {
        let mut zones = self.zones();
        let number = zones.write(from.len(), at)?;
        self.disk.write_at(from, data_at(zones.shape.zones) + at)?;
        self.write_entry(&zones, number)
    }

    fn reset(&self, start: u64) -> io::Result<()> {
        let mut zones = self.zones();
        let number = zones.reset(start)?;
        self.write_entry(&zones, number)?;
        self.disk.punch(data_at(zones.shape.zones) + start, zones.shape.zone)
    }

    fn finish(&self, start: u64) -> io::Result<()> {
        let mut zones = self.zones();
        let number = zones.finish(start)?;
        self.write_entry(&zones, number)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }

    fn waits_for_disk(&self) -> bool {
        self.disk.waits_for_disk()
    }
}
