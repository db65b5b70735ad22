//! Pages whose data are nowhere to be found.

use thermocline_flash::Ppn;

use crate::Holds;

/// The entry of a page that held data which are nowhere to be found: reading it is an error until it is
/// written or trimmed.
pub(crate) const LOST: Ppn = Ppn(Ppn::NONE.0 - 1);

/// The state of a page with this map entry.
#[inline(always)]
pub(crate) const fn holds(entry: Ppn) -> Holds {
    match entry {
        Ppn::NONE => Holds::Nothing,
        LOST => Holds::Lost,
        _ => Holds::Data,
    }
}
