//! The rules of zones, for devices that are emulated: writes at the pointer, limits, resets.

use std::{collections::VecDeque, io};

use super::device::{Condition, Kind, Shape, Zone};

/// Too many zones are active; as the kernel says it.
const TOO_MANY_ACTIVE: i32 = 75;
/// Too many zones are open, and none is closed for another, as the kernel's null device says it.
const TOO_MANY_OPEN: i32 = 109;
/// The rules do not allow that; as the kernel says it.
const NOT_ALLOWED: i32 = 5;

/// The zones of a device.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    pub(super) shape: Shape,
    pub(super) zones: Vec<Zone>,
    /// The open ones, in the order in which they were opened.
    open: VecDeque<usize>,
}

fn not_allowed() -> io::Error {
    io::Error::from_raw_os_error(NOT_ALLOWED)
}

impl Zones {
    /// Empty zones, the first of them conventional.
    pub(super) fn new(shape: Shape, capacity: u64, conventional: u32) -> Self {
        let zone = |number: u32| {
            let is_conventional = number < conventional;
            Zone {
                start: u64::from(number) * shape.zone,
                capacity: if is_conventional { shape.zone } else { capacity },
                pointer: 0,
                kind: if is_conventional { Kind::Conventional } else { Kind::Sequential },
                condition: match is_conventional {
                    true => Condition::NoPointer,
                    false => Condition::Empty,
                },
            }
        };
        Self::of(shape, (0..shape.zones).map(zone).collect())
    }

    /// Zones as they are after a loss of power: none is open.
    pub(super) fn of(shape: Shape, mut zones: Vec<Zone>) -> Self {
        for zone in &mut zones {
            if zone.condition == Condition::Open {
                zone.condition = Condition::Closed;
            }
        }
        Self { shape, zones, open: VecDeque::new() }
    }

    /// The zone at a place.
    fn at(&self, at: u64) -> io::Result<usize> {
        let zone = (at / self.shape.zone) as usize;
        if zone < self.zones.len() { Ok(zone) } else { Err(not_allowed()) }
    }

    /// Whether that much can be read there.
    pub(super) fn read(&self, bytes: usize, at: u64) -> io::Result<()> {
        let zone = &self.zones[self.at(at)?];
        let block = u64::from(self.shape.block);
        let is_whole = at.is_multiple_of(block) && (bytes as u64).is_multiple_of(block);
        let is_within = at + bytes as u64 <= zone.start + self.shape.zone;
        if is_whole && is_within && zone.condition != Condition::Offline {
            return Ok(());
        }
        Err(not_allowed())
    }

    /// Moves the pointer over that much. The zone.
    pub(super) fn write(&mut self, bytes: usize, at: u64) -> io::Result<usize> {
        let number = self.at(at)?;
        let (zone, bytes) = (self.zones[number], bytes as u64);
        let block = u64::from(self.shape.block);
        if !at.is_multiple_of(block) || !bytes.is_multiple_of(block) {
            return Err(not_allowed());
        }
        let end = at - zone.start + bytes;
        if end > zone.capacity {
            return Err(not_allowed());
        }
        match zone.condition {
            Condition::NoPointer => return Ok(number),
            Condition::Full | Condition::ReadOnly | Condition::Offline => return Err(not_allowed()),
            Condition::Empty | Condition::Open | Condition::Closed => {}
        }
        if at - zone.start != zone.pointer {
            return Err(not_allowed());
        }
        if zone.condition != Condition::Open {
            self.open(number)?;
        }
        self.zones[number].pointer = end;
        if end == zone.capacity {
            self.leave_open(number, Condition::Full);
        }
        Ok(number)
    }

    fn open(&mut self, number: usize) -> io::Result<()> {
        let active = self.zones.iter().filter(|zone| zone.is_active()).count() as u32;
        let Shape { most_open, most_active, .. } = self.shape;
        if !self.zones[number].is_active() && most_active > 0 && active >= most_active {
            return Err(io::Error::from_raw_os_error(TOO_MANY_ACTIVE));
        }
        if most_open > 0
            && self.open.len() as u32 >= most_open
            && let Some(&oldest) = self.open.front()
        {
            if most_active > 0 && active >= most_active {
                return Err(io::Error::from_raw_os_error(TOO_MANY_OPEN));
            }
            self.leave_open(oldest, Condition::Closed);
        }
        self.zones[number].condition = Condition::Open;
        self.open.push_back(number);
        Ok(())
    }

    fn leave_open(&mut self, number: usize, condition: Condition) {
        self.open.retain(|&open| open != number);
        self.zones[number].condition = condition;
    }

    /// Empties the zone that begins there. The zone.
    pub(super) fn reset(&mut self, start: u64) -> io::Result<usize> {
        let number = self.changeable(start)?;
        self.leave_open(number, Condition::Empty);
        self.zones[number].pointer = 0;
        Ok(number)
    }

    /// Makes the zone that begins there full. The zone.
    pub(super) fn finish(&mut self, start: u64) -> io::Result<usize> {
        let number = self.changeable(start)?;
        self.leave_open(number, Condition::Full);
        self.zones[number].pointer = self.zones[number].capacity;
        Ok(number)
    }

    fn changeable(&self, start: u64) -> io::Result<usize> {
        let number = self.at(start)?;
        let zone = &self.zones[number];
        let is_fixed = matches!(
            zone.condition,
            Condition::NoPointer | Condition::ReadOnly | Condition::Offline
        );
        if zone.start != start || is_fixed { Err(not_allowed()) } else { Ok(number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { block: 512, zone: 4096, zones: 6, most_open: 2, most_active: 3 };

    fn number(done: io::Result<usize>) -> Result<usize, Option<i32>> {
        done.map_err(|error| error.raw_os_error())
    }

    #[test]
    fn zones_are_written_at_their_pointers_up_to_their_capacity() {
        let mut zones = Zones::new(SHAPE, 2048, 1);
        assert_eq!(number(zones.write(512, 1024)), Ok(0), "a conventional zone takes any order");
        assert_eq!(number(zones.write(512, 4096 + 512)), Err(Some(5)), "not at the pointer");
        assert_eq!(number(zones.write(100, 4096)), Err(Some(5)), "no whole block");
        assert_eq!(number(zones.write(1024, 4096)), Ok(1));
        assert_eq!(number(zones.write(512, 4096)), Err(Some(5)), "behind the pointer");
        assert_eq!(number(zones.write(1536, 4096 + 1024)), Err(Some(5)), "beyond the capacity");
        assert_eq!(number(zones.write(1024, 4096 + 1024)), Ok(1));
        assert_eq!(zones.zones[1].condition, Condition::Full);
        assert_eq!(number(zones.reset(4096)), Ok(1));
        assert_eq!(number(zones.write(512, 4096)), Ok(1));
        assert_eq!(number(zones.finish(4096)), Ok(1));
        assert_eq!(number(zones.write(512, 4096 + 512)), Err(Some(5)), "it is full");
    }

    #[test]
    fn a_zone_too_many_is_closed_if_open_and_an_error_if_active() {
        let mut zones = Zones::new(SHAPE, 4096, 0);
        for zone in 0..3 {
            assert_eq!(number(zones.write(512, zone * 4096)), Ok(zone as usize));
        }
        let condition = |zones: &Zones| zones.zones.iter().map(|z| z.condition).collect::<Vec<_>>();
        assert_eq!(condition(&zones)[..3], [Condition::Closed, Condition::Open, Condition::Open]);
        assert_eq!(number(zones.write(512, 3 * 4096)), Err(Some(75)));
        assert_eq!(number(zones.finish(4096)), Ok(1));
        assert_eq!(number(zones.write(512, 3 * 4096)), Ok(3));
        zones.zones[4].condition = Condition::ReadOnly;
        zones.zones[5].condition = Condition::Offline;
        assert_eq!(number(zones.reset(4 * 4096)), Err(Some(5)));
        assert!(zones.read(512, 4 * 4096).is_ok() && zones.read(512, 5 * 4096).is_err());
    }
}
