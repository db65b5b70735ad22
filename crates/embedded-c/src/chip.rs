//! The caller's functions as a chip.

use core::ffi::{c_int, c_void};

use thermocline_embedded::{AREA, Geometry, Nand, NandError};

/// `thermocline_nand`: a chip as a table of functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ThermoclineNand {
    pub(crate) context: *mut c_void,
    pub(crate) blocks: u32,
    pub(crate) pages: u32,
    pub(crate) page_size: u32,
    pub(crate) read: Option<unsafe extern "C" fn(*mut c_void, u32, u32, *mut c_void, u32) -> c_int>,
    pub(crate) read_area: Option<unsafe extern "C" fn(*mut c_void, u32, *mut u8) -> c_int>,
    pub(crate) program:
        Option<unsafe extern "C" fn(*mut c_void, u32, *const c_void, *const u8) -> c_int>,
    pub(crate) erase: Option<unsafe extern "C" fn(*mut c_void, u32) -> c_int>,
    pub(crate) is_bad: Option<unsafe extern "C" fn(*mut c_void, u32) -> c_int>,
    pub(crate) mark_bad: Option<unsafe extern "C" fn(*mut c_void, u32) -> c_int>,
    pub(crate) copy:
        Option<unsafe extern "C" fn(*mut c_void, u32, u32, *const u8, *mut c_void) -> c_int>,
    pub(crate) sync: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub(crate) corrected: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub(crate) refresh_from: u32,
}

fn result(code: c_int) -> Result<(), NandError> {
    match code {
        0 => Ok(()),
        1 => Err(NandError::Unreadable),
        2 => Err(NandError::Failed),
        _ => Err(NandError::Device),
    }
}

impl ThermoclineNand {
    pub(crate) fn shape(&self) -> Geometry {
        Geometry { blocks: self.blocks, pages: self.pages, page_size: self.page_size }
    }
}

// SAFETY of all calls below: the header demands functions that keep to what it says of them, and buffers are as long as
// it says. A function that is missing is a chip that does not answer, or an operation that the layer does otherwise.
impl Nand for ThermoclineNand {
    fn geometry(&self) -> Geometry {
        self.shape()
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let read = self.read.ok_or(NandError::Device)?;
        // SAFETY: as above.
        result(unsafe {
            read(self.context, page, offset, into.as_mut_ptr().cast(), into.len() as u32)
        })
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        let read_area = self.read_area.ok_or(NandError::Device)?;
        // SAFETY: as above.
        result(unsafe { read_area(self.context, page, into.as_mut_ptr()) })
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        let program = self.program.ok_or(NandError::Device)?;
        // SAFETY: as above.
        result(unsafe { program(self.context, page, data.as_ptr().cast(), area.as_ptr()) })
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        let erase = self.erase.ok_or(NandError::Device)?;
        // SAFETY: as above.
        result(unsafe { erase(self.context, block) })
    }

    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        let is_bad = self.is_bad.ok_or(NandError::Device)?;
        // SAFETY: as above.
        match unsafe { is_bad(self.context, block) } {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(NandError::Device),
        }
    }

    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        let mark_bad = self.mark_bad.ok_or(NandError::Device)?;
        // SAFETY: as above.
        result(unsafe { mark_bad(self.context, block) })
    }

    fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        match self.copy {
            // SAFETY: as above.
            Some(copy) => result(unsafe {
                copy(self.context, from, to, area.as_ptr(), buffer.as_mut_ptr().cast())
            }),
            None => {
                self.read(from, 0, buffer)?;
                self.program(to, buffer, area)
            }
        }
    }

    fn corrected(&mut self) -> u32 {
        // SAFETY: as above.
        let bits = self.corrected.map_or(0, |corrected| unsafe { corrected(self.context) });
        u32::try_from(bits).unwrap_or(0)
    }

    fn refresh_from(&self) -> u32 {
        self.refresh_from
    }

    fn sync(&mut self) -> Result<(), NandError> {
        match self.sync {
            // SAFETY: as above.
            Some(sync) => result(unsafe { sync(self.context) }),
            None => Ok(()),
        }
    }
}
