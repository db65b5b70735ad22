//! Work beside the interpreter: it runs on a thread of its own without the GIL, and the thread that asked for
//! it watches for Ctrl-C and reports progress.
//!
//! Invariants:
//! - The work has ended when this returns, whatever was raised.
//! - A panic of the work is a [`BrokenError`], not the end of the process.

use std::{
    any::Any,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use pyo3::prelude::*;
use thermocline_sim::{Progress, SimError};
use thermocline_study::{Context, Door, Listener, Meter, Remark, Traces, Unit};

use crate::{
    errors::{BrokenError, raised},
    policy,
};

/// How often signals are looked for.
const BEAT: Duration = Duration::from_millis(50);

/// Who receives messages: remarks wait in a list until the interpreter is at hand.
#[derive(Default)]
struct Told {
    remarks: Mutex<Vec<(Remark, String)>>,
    meter: Arc<Mutex<Option<Arc<dyn Meter>>>>,
}

/// Takes a meter away when its work is over.
struct Over(Arc<Mutex<Option<Arc<dyn Meter>>>>);

impl Drop for Over {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Listener for Told {
    fn door(&self) -> Door {
        Door::Python
    }

    fn say(&self, kind: Remark, text: &str) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        remarks.push((kind, text.to_owned()));
    }

    fn begin(&self, meter: Arc<dyn Meter>) -> Box<dyn Any> {
        *self.meter.lock().unwrap_or_else(PoisonError::into_inner) = Some(meter);
        Box::new(Over(Arc::clone(&self.meter)))
    }
}

impl Told {
    /// Calls the listener: `told("progress", message, done, total, unit)` or `told(kind, text)`.
    fn tell(&self, py: Python<'_>, listener: &Py<PyAny>) -> PyResult<()> {
        let remarks =
            std::mem::take(&mut *self.remarks.lock().unwrap_or_else(PoisonError::into_inner));
        for (kind, text) in remarks {
            let kind = match kind {
                Remark::Info => "info",
                Remark::Note => "note",
                Remark::Warning => "warning",
                Remark::Failure => "failure",
            };
            listener.call1(py, (kind, text))?;
        }
        let meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(reading) = meter.map(|meter| meter.read()) {
            let unit = match reading.unit {
                Unit::Requests => "requests",
                Unit::Pages => "pages",
            };
            let told = ("progress", reading.message, reading.done, reading.total, unit);
            listener.call1(py, told)?;
        }
        Ok(())
    }
}

/// Does `work` without the GIL.
///
/// # Errors
/// The exception of the work, the listener, a policy or a signal.
pub fn done<T: Send>(
    py: Python<'_>,
    traces: &(dyn Traces + Sync),
    listener: Option<&Py<PyAny>>,
    work: impl FnOnce(Context<'_>) -> Result<T, SimError> + Send,
) -> PyResult<T> {
    let (progress, told) = (Arc::new(Progress::default()), Told::default());
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let own = policy::registered();
    let ended = thread::scope(|scope| {
        let (told, progress, own) = (&told, &progress, &own);
        let worker = scope.spawn(move || {
            let context = Context::new(told, progress).with_traces(traces).with_own(own);
            let ended = work(context);
            let _ = sender.send(());
            ended
        });
        let mut wrong = None;
        loop {
            let over = py.detach(|| {
                let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
                !matches!(receiver.recv_timeout(BEAT), Err(mpsc::RecvTimeoutError::Timeout))
            });
            let looked = py.check_signals().and_then(|()| match listener {
                Some(listener) if wrong.is_none() => told.tell(py, listener),
                _ => Ok(()),
            });
            if let Err(error) = looked {
                progress.cancel();
                wrong = wrong.or(Some(error));
            }
            if over {
                break;
            }
        }
        let ended = py.detach(|| worker.join());
        wrong.map_or(Ok(ended), Err)
    })?;
    match ended {
        Ok(ended) => ended.map_err(raised),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            Err(BrokenError::new_err(format!(
                "{text}; this is a bug, please report it with the call that showed it"
            )))
        }
    }
}
