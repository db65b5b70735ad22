//! A chip in memory behind that bus: an S34ML01G1, which only programmed pages take.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use super::driver::{Bus, PAGE, SPARE};

const ALL: usize = PAGE + SPARE;

/// The chip's hand and its bus are clones.
#[derive(Clone, Default)]
pub struct Simulated(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    pages: BTreeMap<u32, Vec<u8>>,
    register: Vec<u8>,
    command: u8,
    address: Vec<u8>,
    column: usize,
    /// Looks until it is ready.
    busy: u8,
    failed: bool,
    is_status: bool,
    /// Programs until the power fails, in the midst of the next.
    left: Option<u32>,
    is_off: bool,
}

impl Simulated {
    /// A bit turns.
    pub fn turn(&self, page: u32, column: usize, bit: u8) {
        let mut state = self.0.borrow_mut();
        state.pages.entry(page).or_insert_with(|| vec![0xff; ALL])[column] ^= 1 << bit;
    }

    /// The power fails in the midst of a program, after so many others.
    pub fn cut_in(&self, programs: u32) {
        self.0.borrow_mut().left = Some(programs);
    }

    pub fn power_on(&self) {
        let mut state = self.0.borrow_mut();
        (state.left, state.is_off) = (None, false);
    }
}

impl State {
    fn page(&self, at: usize) -> u32 {
        u32::from(self.address[at]) | u32::from(self.address[at + 1]) << 8
    }

    fn program(&mut self) {
        let page = self.page(2);
        let is_mark = self.register.iter().filter(|byte| **byte != 0xff).count() <= 1;
        assert!(is_mark || !self.pages.contains_key(&page), "page {page} is programmed twice");
        let is_cut = self.left == Some(0);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.is_off = is_cut;
        let cells = self.pages.entry(page).or_insert_with(|| vec![0xff; ALL]);
        for (column, (cell, byte)) in cells.iter_mut().zip(&self.register).enumerate() {
            if !is_cut || column % 3 == 0 {
                *cell &= byte;
            }
        }
    }
}

impl Bus for Simulated {
    fn command(&mut self, byte: u8) {
        let mut state = self.0.borrow_mut();
        let state = &mut *state;
        if state.is_off {
            return;
        }
        assert!(
            state.busy == 0 || matches!(byte, 0x70 | 0xff),
            "command {byte:02x} while it is busy"
        );
        state.is_status = byte == 0x70;
        match (byte, state.command) {
            (0xff, _) => (state.command, state.busy) = (byte, 5),
            (0x30, 0x00) => {
                let blank = || vec![0xff; ALL];
                state.register = state.pages.get(&state.page(2)).cloned().unwrap_or_else(blank);
                (state.column, state.busy) = (0, 2);
            }
            (0x10, 0x80 | 0x85) => {
                state.program();
                (state.busy, state.failed) = (4, false);
            }
            (0xd0, 0x60) => {
                let first = state.page(0) & !63;
                state.pages.retain(|page, _| !(first..first + 64).contains(page));
                (state.busy, state.failed) = (9, false);
            }
            (0x70 | 0xe0, _) => {}
            (0x85, 0x80 | 0x85) => state.address.truncate(4),
            _ => {
                if byte == 0x80 {
                    state.register = vec![0xff; ALL];
                }
                state.command = byte;
                if byte != 0x05 {
                    state.address.clear();
                }
            }
        }
        if matches!(byte, 0x05 | 0x85) {
            // Two bytes of a column follow; the row stays.
            (state.command, state.column) = (byte, usize::MAX);
        }
    }

    fn address(&mut self, byte: u8) {
        let mut state = self.0.borrow_mut();
        let byte = usize::from(byte);
        match (state.command, state.column) {
            (0x05 | 0x85, usize::MAX) => state.column = byte,
            (0x05 | 0x85, low) => state.column = low | byte << 8,
            _ => {
                state.address.push(byte as u8);
                if state.command == 0x80 && state.address.len() == 2 {
                    state.column =
                        usize::from(state.address[0]) | usize::from(state.address[1]) << 8;
                }
            }
        }
    }

    fn write(&mut self, byte: u8) {
        let mut state = self.0.borrow_mut();
        let column = state.column;
        if let Some(cell) = state.register.get_mut(column) {
            *cell = byte;
        }
        state.column += 1;
    }

    fn read(&mut self) -> u8 {
        let mut state = self.0.borrow_mut();
        if state.is_off {
            return 0;
        }
        if state.is_status {
            state.busy = state.busy.saturating_sub(1);
            let ready = if state.busy == 0 { 0x40 } else { 0 };
            return 0x80 | ready | u8::from(state.failed);
        }
        let column = state.column;
        state.column += 1;
        state.register.get(column).copied().unwrap_or(0xff)
    }
}
