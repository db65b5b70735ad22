//! A W25Q64 in memory, behind an SPI bus.

use std::{cell::RefCell, rc::Rc};

use embedded_hal::{
    delay::DelayNs,
    spi::{ErrorKind, ErrorType, Operation, SpiDevice},
};

/// The chip's hand, its bus and the delay are clones.
#[derive(Clone)]
pub struct Simulated(Rc<RefCell<State>>);

struct State {
    bytes: Vec<u8>,
    is_writable: bool,
    /// Microseconds.
    now: u64,
    ready: u64,
    /// Programs and erases until the power fails, in the midst of the next.
    left: Option<u32>,
    is_off: bool,
}

impl Simulated {
    pub fn w25q64() -> Self {
        Self(Rc::new(RefCell::new(State {
            bytes: vec![0xff; 8 << 20],
            is_writable: false,
            now: 0,
            ready: 0,
            left: None,
            is_off: false,
        })))
    }

    /// The power fails in the midst of a program or an erase, after so many others.
    pub fn cut_in(&self, others: u32) {
        self.0.borrow_mut().left = Some(others);
    }

    pub fn power_on(&self) {
        let mut state = self.0.borrow_mut();
        (state.left, state.is_off, state.ready) = (None, false, 0);
    }
}

impl State {
    fn change(&mut self, is_erase: bool, at: usize, data: &[u8]) {
        if !std::mem::take(&mut self.is_writable) {
            return;
        }
        self.is_off = self.left == Some(0);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.ready = self.now + if is_erase { 45_000 } else { 400 };
        if is_erase {
            let end = if self.is_off { 2048 } else { 4096 };
            self.bytes[at & !4095..][..end].fill(0xff);
            return;
        }
        let end = if self.is_off { data.len() / 2 } else { data.len() };
        for (i, byte) in data[..end].iter().enumerate() {
            // What goes beyond the chip's page goes around.
            self.bytes[at & !255 | (at + i) & 255] &= byte;
        }
    }
}

impl ErrorType for Simulated {
    type Error = ErrorKind;
}

impl SpiDevice for Simulated {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), ErrorKind> {
        let state = &mut *self.0.borrow_mut();
        if state.is_off {
            return Err(ErrorKind::Other);
        }
        let (command, rest) = match operations {
            [Operation::Write(command), rest] => (*command, rest),
            _ => return Err(ErrorKind::Other),
        };
        let is_busy = state.now < state.ready;
        let at = || command[1..].iter().fold(0, |at, &byte| at << 8 | usize::from(byte));
        match (command[0], rest) {
            (0x05, Operation::Read(into)) => into.fill(u8::from(is_busy)),
            (command, _) if is_busy => panic!("command {command:02x} while it is busy"),
            (0x9f, Operation::Read(into)) => into.copy_from_slice(&[0xef, 0x40, 0x17]),
            (0x03, Operation::Read(into)) => {
                into.copy_from_slice(&state.bytes[at()..][..into.len()]);
            }
            (0x06, _) => state.is_writable = true,
            (0x02, Operation::Write(data)) => state.change(false, at(), data),
            (0x20, _) => state.change(true, at(), &[]),
            (command, _) => panic!("command {command:02x}"),
        }
        Ok(())
    }
}

impl DelayNs for Simulated {
    fn delay_ns(&mut self, ns: u32) {
        self.0.borrow_mut().now += u64::from(ns.div_ceil(1000));
    }
}
