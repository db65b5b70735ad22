//! The system calls of a Linux zoned block device (`include/uapi/linux/blkzoned.h`).
//!
//! The only file of this crate's zoned medium that is not safe Rust. What leaves it is.

#![allow(unsafe_code)]

use std::{fs::File, io, os::fd::AsRawFd};

use super::device::{Condition, Kind, Zone};

/// Bytes of a sector of these calls, whatever the device's own block.
const SECTOR: u64 = 512;
/// Zones that are asked for in one call.
const AT_ONCE: usize = 256;
/// The type of these requests.
const BLK: u32 = 0x12;
/// The capacity of the zones was returned (`blk_zone_report.flags`).
const HAS_CAPACITY: u32 = 1;

/// `struct blk_zone`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct BlkZone {
    start: u64,
    len: u64,
    wp: u64,
    kind: u8,
    cond: u8,
    non_seq: u8,
    reset: u8,
    resv: [u8; 4],
    capacity: u64,
    reserved: [u8; 24],
}

/// `struct blk_zone_report`, without the zones behind it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ReportHead {
    sector: u64,
    nr_zones: u32,
    flags: u32,
}

#[repr(C)]
struct Report {
    head: ReportHead,
    zones: [BlkZone; AT_ONCE],
}

/// `struct blk_zone_range`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Range {
    sector: u64,
    nr_sectors: u64,
}

/// Makes a system call.
///
/// # Safety
/// `argument` must be what the kernel expects for `request`.
unsafe fn call<T>(device: &File, request: libc::Ioctl, argument: &mut T) -> io::Result<()> {
    loop {
        // SAFETY: The descriptor is open as long as `device` is borrowed; the rest the caller promised.
        let result =
            unsafe { libc::ioctl(device.as_raw_fd(), request, std::ptr::from_mut::<T>(argument)) };
        if result >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// `BLKREPORTZONE`: all zones of a device.
pub(super) fn report(device: &File) -> io::Result<Vec<Zone>> {
    let mut zones = Vec::new();
    let mut report =
        Box::new(Report { head: ReportHead::default(), zones: [BlkZone::default(); AT_ONCE] });
    let mut sector = 0;
    loop {
        report.head = ReportHead { sector, nr_zones: AT_ONCE as u32, flags: 0 };
        // SAFETY: The request takes a head and writes at most as many zones behind it as that says.
        unsafe { call(device, libc::_IOWR::<ReportHead>(BLK, 130), &mut *report) }?;
        let count = (report.head.nr_zones as usize).min(AT_ONCE);
        let has_capacity = report.head.flags & HAS_CAPACITY != 0;
        let Some(last) = report.zones[..count].last() else { return Ok(zones) };
        sector = last.start + last.len.max(1);
        zones.extend(report.zones[..count].iter().map(|zone| of(zone, has_capacity)));
    }
}

fn of(zone: &BlkZone, has_capacity: bool) -> Zone {
    Zone {
        start: zone.start * SECTOR,
        capacity: SECTOR * if has_capacity { zone.capacity } else { zone.len },
        pointer: zone.wp.saturating_sub(zone.start) * SECTOR,
        kind: if zone.kind == 1 { Kind::Conventional } else { Kind::Sequential },
        condition: match zone.cond {
            0 => Condition::NoPointer,
            1 => Condition::Empty,
            2 | 3 => Condition::Open,
            4 => Condition::Closed,
            14 => Condition::Full,
            13 => Condition::ReadOnly,
            _ => Condition::Offline,
        },
    }
}

fn range(start: u64, bytes: u64) -> Range {
    Range { sector: start / SECTOR, nr_sectors: bytes / SECTOR }
}

/// `BLKRESETZONE`: empties a zone.
pub(super) fn reset(device: &File, start: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: The request takes this structure, in which there are no addresses.
    unsafe { call(device, libc::_IOW::<Range>(BLK, 131), &mut range(start, bytes)) }
}

/// `BLKFINISHZONE`: makes a zone full.
pub(super) fn finish(device: &File, start: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: The request takes this structure, in which there are no addresses.
    unsafe { call(device, libc::_IOW::<Range>(BLK, 136), &mut range(start, bytes)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn requests_have_the_numbers_of_the_kernel() {
        // As a C compiler gives them.
        assert_eq!(libc::_IOWR::<ReportHead>(BLK, 130), 0xc010_1282);
        assert_eq!(libc::_IOW::<Range>(BLK, 131), 0x4010_1283);
        assert_eq!(libc::_IOW::<Range>(BLK, 136), 0x4010_1288);
        assert_eq!((size_of::<BlkZone>(), std::mem::offset_of!(Report, zones)), (64, 16));
    }
}
