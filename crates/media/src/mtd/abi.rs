//! The system calls of a Linux MTD character device (`include/uapi/mtd/mtd-abi.h`).
//!
//! The only file of this crate's MTD driver that is not safe Rust. What leaves it is.

#![allow(unsafe_code)]

use std::{fs::File, io, os::fd::AsRawFd};

/// Kinds of medium (`mtd_info_user.type`).
pub(super) const NAND: u8 = 4;
pub(super) const MLC_NAND: u8 = 8;
/// The device can be written to (`mtd_info_user.flags`).
pub(super) const WRITEABLE: u32 = 0x400;
/// Out-of-band bytes are those that the error correction leaves free, seen as one row.
const AUTO_OOB: u8 = 1;

/// `struct mtd_info_user`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Info {
    pub(super) kind: u8,
    pub(super) flags: u32,
    /// Bytes, modulo 2^32.
    pub(super) size: u32,
    pub(super) erasesize: u32,
    pub(super) writesize: u32,
    pub(super) oobsize: u32,
    padding: u64,
}

/// `struct erase_info_user64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Erase {
    start: u64,
    length: u64,
}

/// `struct mtd_oob_buf64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct OobBuffer {
    start: u64,
    pad: u32,
    length: u32,
    pointer: u64,
}

/// `struct mtd_write_req`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Write {
    start: u64,
    len: u64,
    ooblen: u64,
    data: u64,
    oob: u64,
    mode: u8,
    padding: [u8; 7],
}

/// `struct mtd_read_req`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Read {
    start: u64,
    len: u64,
    ooblen: u64,
    data: u64,
    oob: u64,
    mode: u8,
    padding: [u8; 7],
    statistics: Statistics,
}

/// `struct mtd_read_req_ecc_stats`: what the error correction of one read found.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Statistics {
    /// Steps of the error correction that it could not correct.
    pub(super) failed: u32,
    /// Bits that were corrected.
    pub(super) corrected: u32,
    /// Bits that were corrected in the worst step.
    pub(super) worst: u32,
}

/// `struct mtd_ecc_stats`: what it found since the system was started.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) corrected: u32,
    pub(super) failed: u32,
    bad_blocks: u32,
    table_blocks: u32,
}

/// `struct nand_ecclayout_user`: which out-of-band bytes are free, as far as it has room for them.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Layout {
    ecc_bytes: u32,
    ecc_positions: [u32; 64],
    available: u32,
    /// Offset and length of each row of free bytes.
    pub(super) free: [[u32; 2]; 8],
}

/// The type of all requests to MTD devices.
const MTD: u32 = b'M' as u32;

/// Makes a system call.
///
/// # Safety
/// `argument` must be of the type that the kernel expects for `request`, and addresses in it must be
/// those of buffers as long as it says, writable where the kernel writes.
unsafe fn call<T>(device: &File, request: libc::Ioctl, argument: &mut T) -> io::Result<i32> {
    loop {
        // SAFETY: The descriptor is open as long as `device` is borrowed; the rest the caller promised.
        let result =
            unsafe { libc::ioctl(device.as_raw_fd(), request, std::ptr::from_mut::<T>(argument)) };
        if result >= 0 {
            return Ok(result);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// `MEMGETINFO`: the device's kind and shape.
pub(super) fn info(device: &File) -> io::Result<Info> {
    let mut info = Info::default();
    // SAFETY: The request takes this structure, in which there are no addresses.
    unsafe { call(device, libc::_IOR::<Info>(MTD, 1), &mut info) }?;
    Ok(info)
}

/// `MEMGETBADBLOCK`: whether the block at this offset is bad.
pub(super) fn is_bad(device: &File, mut offset: i64) -> io::Result<bool> {
    // SAFETY: The request takes an offset.
    Ok(unsafe { call(device, libc::_IOW::<i64>(MTD, 11), &mut offset) }? != 0)
}

/// `MEMSETBADBLOCK`: marks the block at this offset.
pub(super) fn mark_bad(device: &File, mut offset: i64) -> io::Result<()> {
    // SAFETY: The request takes an offset.
    unsafe { call(device, libc::_IOW::<i64>(MTD, 12), &mut offset) }.map(drop)
}

/// `MEMERASE64`: erases the block at this offset.
pub(super) fn erase(device: &File, start: u64, length: u64) -> io::Result<()> {
    let mut block = Erase { start, length };
    // SAFETY: The request takes this structure, in which there are no addresses.
    unsafe { call(device, libc::_IOW::<Erase>(MTD, 20), &mut block) }.map(drop)
}

/// `MEMWRITE`: programs a page and the free bytes beside it.
pub(super) fn write(device: &File, start: u64, data: &[u8], oob: &[u8]) -> io::Result<()> {
    let mut page = Write {
        start,
        len: data.len() as u64,
        ooblen: oob.len() as u64,
        data: data.as_ptr() as u64,
        oob: oob.as_ptr() as u64,
        mode: AUTO_OOB,
        padding: [0; 7],
    };
    // SAFETY: The request takes this structure. It reads from two borrowed buffers of these lengths.
    unsafe { call(device, libc::_IOWR::<Write>(MTD, 24), &mut page) }.map(drop)
}

/// `MEMREAD` (Linux 6.1): reads a page, or nothing of it if `data` is empty, and the free bytes
/// beside it. What could not be corrected is no error here, but counted.
pub(super) fn read(
    device: &File,
    start: u64,
    data: &mut [u8],
    oob: &mut [u8],
) -> io::Result<Statistics> {
    let mut page = Read {
        start,
        len: data.len() as u64,
        ooblen: oob.len() as u64,
        // An address that is not zero would ask for data, if for none of them.
        data: if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 },
        oob: oob.as_mut_ptr() as u64,
        mode: AUTO_OOB,
        padding: [0; 7],
        statistics: Statistics::default(),
    };
    // SAFETY: The request takes this structure. It writes into two buffers of these lengths, which are
    // borrowed for writing.
    match unsafe { call(device, libc::_IOWR::<Read>(MTD, 26), &mut page) } {
        Ok(_) => {}
        // Bits were corrected, or could not be: the data were delivered with the counts.
        Err(e) if matches!(e.raw_os_error(), Some(libc::EUCLEAN | libc::EBADMSG)) => {}
        Err(e) => return Err(e),
    }
    Ok(page.statistics)
}

/// `MEMREADOOB64`: reads out-of-band bytes as they lie on the chip.
pub(super) fn read_oob(device: &File, start: u64, oob: &mut [u8]) -> io::Result<()> {
    let mut buffer =
        OobBuffer { start, pad: 0, length: oob.len() as u32, pointer: oob.as_mut_ptr() as u64 };
    // SAFETY: The request takes this structure. It writes into a buffer of this length, which is
    // borrowed for writing.
    unsafe { call(device, libc::_IOWR::<OobBuffer>(MTD, 22), &mut buffer) }.map(drop)
}

/// `ECCGETSTATS`: what the error correction found since the system was started.
pub(super) fn totals(device: &File) -> io::Result<Totals> {
    let mut totals = Totals::default();
    // SAFETY: The request takes this structure, in which there are no addresses.
    unsafe { call(device, libc::_IOR::<Totals>(MTD, 18), &mut totals) }?;
    Ok(totals)
}

/// `ECCGETLAYOUT`: where the free out-of-band bytes lie on the chip.
pub(super) fn layout(device: &File) -> io::Result<Layout> {
    let mut layout =
        Layout { ecc_bytes: 0, ecc_positions: [0; 64], available: 0, free: [[0; 2]; 8] };
    // SAFETY: The request takes this structure, in which there are no addresses.
    unsafe { call(device, libc::_IOR::<Layout>(MTD, 17), &mut layout) }?;
    Ok(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn requests_have_the_numbers_of_the_kernel() {
        // As a C compiler gives them.
        assert_eq!(libc::_IOR::<Info>(MTD, 1), 0x8020_4d01);
        assert_eq!(libc::_IOW::<i64>(MTD, 11), 0x4008_4d0b);
        assert_eq!(libc::_IOR::<Layout>(MTD, 17), 0x8148_4d11);
        assert_eq!(libc::_IOR::<Totals>(MTD, 18), 0x8010_4d12);
        assert_eq!(libc::_IOW::<Erase>(MTD, 20), 0x4010_4d14);
        assert_eq!(libc::_IOWR::<OobBuffer>(MTD, 22), 0xc018_4d16);
        assert_eq!(libc::_IOWR::<Write>(MTD, 24), 0xc030_4d18);
        assert_eq!(libc::_IOWR::<Read>(MTD, 26), 0xc040_4d1a);
    }
}
