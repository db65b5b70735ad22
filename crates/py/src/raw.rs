//! The one place with `unsafe`: what comes from C.

#![allow(unsafe_code)]

use arrow_array::{
    RecordBatch,
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
};
use pyo3::{prelude::*, types::PyCapsule};

use crate::errors::InputError;

/// The batches of a stream that a capsule of the Arrow C stream interface holds. Its buffers are not copied;
/// they are kept until the batches are dropped.
///
/// # Errors
/// It is no such capsule, was used before, or its producer failed.
pub fn batches(capsule: &Bound<'_, PyCapsule>) -> PyResult<Vec<RecordBatch>> {
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by the Arrow PyCapsule interface a capsule of this name points at a stream that is initialised or
    // released, and the consumer may move it out; `from_raw` leaves a released one behind, which the capsule's
    // destructor knows. The GIL is held, and the capsule keeps the memory alive for the call. A stream that was
    // released is refused by `from_raw`.
    let reader =
        unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    let reader = reader.map_err(|e| InputError::new_err(e.to_string()))?;
    reader.map(|batch| batch.map_err(|e| InputError::new_err(e.to_string()))).collect()
}
