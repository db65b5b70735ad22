//! Where a sparse file holds data.

use std::{
    fs::File,
    io::{self, Result},
    iter,
    ops::Range,
};

use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};

/// The ranges of a file up to `end` that hold data, in order. Without support of the file system for holes, one
/// range covers the file.
///
/// # Errors
/// The system's. An error is the last item.
pub fn data(file: &File, end: u64) -> impl Iterator<Item = Result<Range<u64>>> {
    let mut at = 0;
    iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let range = match seek(file, SeekFrom::Data(at)) {
            Ok(begin) if begin < end => {
                begin..seek(file, SeekFrom::Hole(begin)).unwrap_or(end).min(end)
            }
            Ok(_) | Err(Errno::NXIO) => end..end,
            Err(Errno::INVAL) => at..end,
            Err(error) => {
                at = end;
                return Some(Err(io::Error::from(error)));
            }
        };
        at = range.end.max(at + 1);
        (!range.is_empty()).then_some(Ok(range))
    })
}
