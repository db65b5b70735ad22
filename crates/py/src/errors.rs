//! Errors of the simulator as exceptions, by whose fault they are: the exit codes of the command line.

use pyo3::prelude::*;
use pyo3::{
    PyErr, Python, create_exception,
    exceptions::{PyException, PyKeyboardInterrupt, PyMemoryError},
};
use thermocline_policy::foreign::Failure;
use thermocline_sim::SimError;
use thermocline_study::Door;
use thermocline_trace::TraceError;

use crate::policy::Raised;

create_exception!(thermocline, ThermoclineError, PyException, "Why there is no result.");
create_exception!(
    thermocline,
    UsageError,
    ThermoclineError,
    "A setting makes no sense; the text says what to write."
);
create_exception!(
    thermocline,
    InputError,
    ThermoclineError,
    "A trace or another input cannot be used as it is."
);
create_exception!(
    thermocline,
    FailedError,
    ThermoclineError,
    "A simulation could not be finished."
);
create_exception!(
    thermocline,
    BrokenError,
    ThermoclineError,
    "An invariant was broken: a bug of Thermocline."
);
create_exception!(
    thermocline,
    PolicyError,
    ThermoclineError,
    "A policy of your own answered what makes no sense, or a function of C failed."
);

/// The exception for an error.
pub fn raised(error: SimError) -> PyErr {
    let text = Door::Python.words(&error.to_string()).into_owned();
    match error {
        SimError::Usage(_) | SimError::Trace(TraceError::Usage { .. }) => UsageError::new_err(text),
        SimError::Input(_) | SimError::TooSmall(_) | SimError::Trace(_) => {
            InputError::new_err(text)
        }
        SimError::Failed(_) => FailedError::new_err(text),
        SimError::Memory(_) => PyMemoryError::new_err(text),
        SimError::Broken(_) => BrokenError::new_err(text),
        SimError::Policy(failure) => raised_by_policy(failure),
        SimError::Interrupted => PyKeyboardInterrupt::new_err(text),
    }
}

/// A policy's own exception, with a note that says whose it is where Python has notes.
fn raised_by_policy(failure: Failure) -> PyErr {
    match failure.downcast::<Raised>() {
        Ok(raised) => Python::attach(|py| {
            let note = format!("raised in the policy's {}", raised.by);
            let _ = raised.error.value(py).call_method1("add_note", (note,));
            raised.error
        }),
        Err(failure) => PolicyError::new_err(failure.to_string()),
    }
}
