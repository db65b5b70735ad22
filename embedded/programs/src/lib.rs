//! What a program on bare metal needs: a beginning, words to the outside, an end. The outside is QEMU, by semihosting.

#![no_std]

use core::{arch::asm, fmt, ptr::addr_of_mut};

unsafe extern "C" {
    static mut text_end: u8;
    static mut data_start: u32;
    static mut data_end: u32;
    static mut data_from: u32;
    static mut bss_start: u32;
    static mut bss_end: u32;
    static mut stack_end: u32;
    /// The program.
    fn program() -> bool;
}

#[cfg(target_arch = "arm")]
mod begin {
    use super::stack_end;

    /// Where a Cortex-M finds its stack and its first instruction.
    #[repr(C)]
    struct Vectors(*mut u32, unsafe extern "C" fn() -> !);
    // SAFETY: it is only read, by the processor.
    unsafe impl Sync for Vectors {}

    #[unsafe(link_section = ".vectors")]
    #[used]
    static VECTORS: Vectors = Vectors(&raw mut stack_end, super::start);
}

#[cfg(target_arch = "riscv32")]
core::arch::global_asm!(
    ".section .vectors, \"ax\"",
    ".globl _begin",
    "_begin: la sp, stack_end",
    "j start"
);

const PAINT: u32 = 0x5a5a_5a5a;

/// The first instruction.
///
/// # Safety
/// The processor calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn start() -> ! {
    // SAFETY: the linker's script gives these symbols; nothing uses this memory yet, but for the stack, which is at the
    // other end of it.
    unsafe {
        let (mut to, mut from) = (addr_of_mut!(data_start), addr_of_mut!(data_from));
        while to < addr_of_mut!(data_end) {
            to.write_volatile(from.read_volatile());
            (to, from) = (to.add(1), from.add(1));
        }
        let mut to = addr_of_mut!(bss_start);
        while to < addr_of_mut!(bss_end) {
            to.write_volatile(0);
            to = to.add(1);
        }
        let stack = addr_of_mut!(stack_end).sub(64);
        while to < stack {
            to.write_volatile(PAINT);
            to = to.add(1);
        }
        let passed = program();
        exit(passed)
    }
}

/// Bytes of the stack that were used so far.
#[must_use]
pub fn stack_used() -> usize {
    // SAFETY: words between variables and stack, painted at the beginning.
    unsafe {
        let mut at = addr_of_mut!(bss_end);
        while at < addr_of_mut!(stack_end) && at.read_volatile() == PAINT {
            at = at.add(1);
        }
        addr_of_mut!(stack_end) as usize - at as usize
    }
}

/// Bytes of instructions and constants.
#[must_use]
pub fn code_size() -> usize {
    let base = if cfg!(target_arch = "arm") { 0 } else { 0x8000_0000 };
    addr_of_mut!(text_end) as usize - base
}

/// A call to the outside.
fn semihosting(operation: usize, argument: usize) {
    // SAFETY: QEMU reads what the argument points to.
    #[cfg(target_arch = "arm")]
    unsafe {
        asm!("bkpt 0xab", inout("r0") operation => _, in("r1") argument);
    }
    // SAFETY: as above; these three instructions in a row are the call.
    #[cfg(target_arch = "riscv32")]
    unsafe {
        asm!(".option push", ".option norvc", ".balign 16", "slli x0, x0, 0x1f", "ebreak", "srai x0, x0, 7",
             ".option pop", inout("a0") operation => _, in("a1") argument);
    }
}

/// Where words go.
pub struct Outside;

impl fmt::Write for Outside {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.words(text);
        Ok(())
    }
}

impl Outside {
    /// Says a number: what `core::fmt` takes of flash is not the layer's.
    pub fn number(&mut self, number: usize) {
        if number > 9 {
            self.number(number / 10);
        }
        let digit = b'0' + (number % 10) as u8;
        semihosting(3, &raw const digit as usize);
    }

    /// Says words.
    pub fn words(&mut self, text: &str) {
        for byte in text.bytes() {
            semihosting(3, &raw const byte as usize);
        }
    }
}

/// Ends the machine, with status 0 or 1.
pub fn exit(passed: bool) -> ! {
    let reason = if passed { 0x20026_usize } else { 0x20023 };
    semihosting(0x18, reason);
    loop {}
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    use fmt::Write;
    let _ = writeln!(Outside, "{info}");
    exit(false)
}
