//! The one place with `unsafe`: what comes from C.

#![allow(unsafe_code)]

use std::{
    collections::HashMap,
    ffi::c_void,
    mem, ptr,
    sync::Arc,
    thread::{self, ThreadId},
};

use arrow_array::{
    RecordBatch, RecordBatchReader as _,
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
};
use arrow_schema::Schema;
use pyo3::{ffi, prelude::*, types::PyCapsule};
use thermocline_policy::{
    Context,
    foreign::{
        BatchPlacement, BatchVictim, Failure, Maker,
        abi::{self, Head, PlacementTable, VictimTable},
    },
};

use crate::{
    errors::InputError,
    policy::{Raised, device},
};

/// The columns and the batches of a stream that a capsule of the Arrow C stream interface holds. Its buffers are not
/// copied; they are kept until the batches are dropped.
///
/// # Errors
/// It is no such capsule, was used before, or its producer failed.
pub fn arrow(capsule: &Bound<'_, PyCapsule>) -> PyResult<(Arc<Schema>, Vec<RecordBatch>)> {
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by the Arrow PyCapsule interface a capsule of this name points at a stream that is initialised or
    // released, and the consumer may move it out; `from_raw` leaves a released one behind, which the capsule's
    // destructor knows. The GIL is held, and the capsule keeps the memory alive for the call. A stream that was
    // released is refused by `from_raw`.
    let reader =
        unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    let reader = reader.map_err(|e| InputError::new_err(e.to_string()))?;
    let schema = reader.schema();
    let batches = reader.map(|batch| batch.map_err(|e| InputError::new_err(e.to_string())));
    Ok((schema, batches.collect::<PyResult<_>>()?))
}

/// Keeps the interpreter's state of this thread while it has a Python policy. Without it every call into the
/// interpreter would create and free such a state, at ten times the cost of the call.
pub struct ThreadState {
    thread: ThreadId,
    attached: ffi::PyGILState_STATE,
    state: *mut ffi::PyThreadState,
}

impl ThreadState {
    /// The state of this thread, which is not attached to the interpreter.
    pub fn keep() -> Self {
        // SAFETY: the interpreter runs, for it began the work and waits for its end. The state is made, or found, and
        // the lock is given back at once.
        unsafe {
            let attached = ffi::PyGILState_Ensure();
            Self { thread: thread::current().id(), attached, state: ffi::PyEval_SaveThread() }
        }
    }
}

impl Drop for ThreadState {
    fn drop(&mut self) {
        // On another thread it is left as it is: a state belongs to its thread.
        if self.thread == thread::current().id() {
            // SAFETY: this thread saved the state, and is not attached: policies are dropped by the layer.
            unsafe {
                ffi::PyEval_RestoreThread(self.state);
                ffi::PyGILState_Release(self.attached);
            }
        }
    }
}

// SAFETY: on any other thread than its own it does nothing.
unsafe impl Send for ThreadState {}

/// Functions of C that are a policy.
struct Native {
    name: String,
    table: Table,
    /// Gives the address of a run's state and what keeps that, where it is no function of C.
    state: Option<Py<PyAny>>,
    /// Keeps the functions alive.
    kept: Py<PyAny>,
}

#[derive(Clone, Copy)]
enum Table {
    Placement(PlacementTable),
    Victim(VictimTable),
}

// SAFETY: by the contract of the header functions are called from any thread, a state from one at a time; the
// pointers of a table are only read.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

/// Keep the functions and the state alive.
type Kept = (Py<PyAny>, Option<Py<PyAny>>);

impl Native {
    /// The address of a run's state, and what must outlive it.
    fn state(&self, context: &Context, bank: u32) -> Result<(Option<*mut c_void>, Kept), Failure> {
        Python::attach(|py| {
            let kept = self.kept.clone_ref(py);
            let Some(state) = &self.state else { return Ok((None, (kept, None))) };
            let made = state
                .call1(py, device(context, bank))
                .and_then(|made| made.extract::<(usize, Py<PyAny>)>(py));
            let (address, state) = made.map_err(|error| -> Failure {
                Box::new(Raised::new(py, format!("{}.state", self.name), error))
            })?;
            let address = ptr::with_exposed_provenance_mut::<c_void>(address);
            Ok((Some(address), (kept, Some(state))))
        })
    }
}

impl Maker for Native {
    fn name(&self) -> &str {
        &self.name
    }

    fn streams(&self) -> Option<u8> {
        match &self.table {
            Table::Placement(table) => Some(u8::try_from(table.streams).unwrap_or(u8::MAX)),
            Table::Victim(_) => None,
        }
    }

    fn placement(&self, context: &Context) -> Result<Box<dyn BatchPlacement>, Failure> {
        let Table::Placement(mut table) = self.table else {
            return Err(format!("{} is no placement", self.name).into());
        };
        let (state, kept) = self.state(context, 0)?;
        table.head.data = state.unwrap_or(table.head.data);
        // SAFETY: whoever gave the functions promised that they keep to the header; `kept` keeps them and the state.
        unsafe { abi::placement(&self.name, table, context, Box::new(kept)) }
    }

    fn victim(&self, context: &Context, bank: u32) -> Result<Box<dyn BatchVictim>, Failure> {
        let Table::Victim(mut table) = self.table else {
            return Err(format!("{} is no victim policy", self.name).into());
        };
        let (state, kept) = self.state(context, bank)?;
        table.head.data = state.unwrap_or(table.head.data);
        // SAFETY: as above.
        unsafe { abi::victim(&self.name, table, context, bank, Box::new(kept)) }
    }
}

/// A policy of the table at an address, which `kept` keeps.
///
/// # Errors
/// The table is of another version.
pub fn table(
    victim: bool,
    address: usize,
    name: Option<String>,
    kept: Py<PyAny>,
) -> Result<Arc<dyn Maker>, Failure> {
    // SAFETY: the caller promised that the address is such a table, with a terminated name.
    let (table, own) = unsafe {
        if victim {
            let table = abi::read::<VictimTable>(ptr::with_exposed_provenance(address))?;
            (Table::Victim(table), abi::name(&table))
        } else {
            let table = abi::read::<PlacementTable>(ptr::with_exposed_provenance(address))?;
            (Table::Placement(table), abi::name(&table))
        }
    };
    let name = name.or(own).unwrap_or_else(|| "native".into());
    Ok(Arc::new(Native { name, table, state: None, kept }))
}

/// A policy of functions at addresses, which `kept` keeps; `numbers` are streams, batch and flags of a placement, or
/// the number of an age source.
///
/// # Errors
/// A name is none of a function.
pub fn functions(
    victim: bool,
    name: String,
    functions: &HashMap<String, usize>,
    numbers: (u32, u32, u32),
    state: Option<Py<PyAny>>,
    kept: Py<PyAny>,
) -> Result<Arc<dyn Maker>, Failure> {
    let known: &[&str] = if victim {
        &["ratio", "age", "score", "choose", "written", "answered"]
    } else {
        &["host", "survivors", "written", "filled", "trimmed", "spilt", "block"]
    };
    if let Some(other) = functions.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(
            format!("there is no function `{other}`; there are {}", known.join(", ")).into()
        );
    }
    let at = |name: &str| functions.get(name).copied().unwrap_or(0);
    let size =
        if victim { mem::size_of::<VictimTable>() } else { mem::size_of::<PlacementTable>() };
    let head = Head {
        version: abi::VERSION,
        size: size as u32,
        name: ptr::null(),
        data: ptr::null_mut(),
        open: None,
        close: None,
        message: None,
    };
    // SAFETY: whoever gave the addresses promised that functions of these signatures are there, or none.
    let table = unsafe {
        if victim {
            Table::Victim(VictimTable {
                head,
                ages: numbers.0,
                reserved: 0,
                ratio: function(at("ratio")),
                age: function(at("age")),
                score: function(at("score")),
                choose: function(at("choose")),
                written: function(at("written")),
                answered: function(at("answered")),
            })
        } else {
            let (streams, batch, flags) = numbers;
            Table::Placement(PlacementTable {
                head,
                streams,
                batch,
                flags,
                reserved: 0,
                host: function(at("host")),
                survivors: function(at("survivors")),
                written: function(at("written")),
                filled: function(at("filled")),
                trimmed: function(at("trimmed")),
                spilt: function(at("spilt")),
                block: function(at("block")),
            })
        }
    };
    Ok(Arc::new(Native { name, table, state, kept }))
}

/// The function at an address; none at 0.
///
/// # Safety
/// `F` is a pointer to a function or none, and a function of that type is at the address.
unsafe fn function<F: Copy>(address: usize) -> Option<F> {
    const { assert!(mem::size_of::<F>() == mem::size_of::<usize>(), "a pointer") };
    let address = ptr::with_exposed_provenance::<c_void>(address);
    // SAFETY: by the caller's promise; a pointer to a function is as large as one to data.
    (!address.is_null()).then(|| unsafe { mem::transmute_copy::<*const c_void, F>(&address) })
}
