//! Errors of the simulator as exceptions, by whose fault they are: the exit codes of the command line.

use pyo3::{PyErr, create_exception, exceptions::PyException, exceptions::PyKeyboardInterrupt};
use thermocline_sim::SimError;
use thermocline_trace::TraceError;

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

/// The exception for an error.
pub fn raised(error: SimError) -> PyErr {
    let text = error.to_string();
    match error {
        SimError::Usage(_) | SimError::Trace(TraceError::Usage { .. }) => UsageError::new_err(text),
        SimError::Input(_) | SimError::Trace(_) => InputError::new_err(text),
        SimError::Failed(_) => FailedError::new_err(text),
        SimError::Broken(_) => BrokenError::new_err(text),
        SimError::Interrupted => PyKeyboardInterrupt::new_err(text),
    }
}
