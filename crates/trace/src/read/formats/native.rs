//! Thermocline's own binary format, read by [`crate::native`].

use crate::{
    Request, Source, TraceError,
    native::{MAGIC, NativeReader},
    read::{
        context::Context,
        decode::Decode,
        entry::{Entry, Special},
        input::Input,
        sample::Hit,
    },
};

pub(super) const ENTRY: Entry = Entry {
    name: "native",
    about: "Thermocline's own format: compact, nanoseconds and bytes",
    source: "written by `thermocline trace convert`",
    special: Special::NONE,
    detect: |sample| {
        sample.bytes.starts_with(&MAGIC).then_some(Hit { score: 100, from: "its magic number" })
    },
    open: |setup| {
        setup.each(|input| {
            let path = input.path().to_owned();
            let reader = NativeReader::new(input, path).map_err(unwrapped)?;
            Ok(Native { reader, batch: Vec::new(), volumes: Vec::new() })
        })
    },
};

/// The error of [`Input`] for a damaged archive, without the wrapper of the native reader.
fn unwrapped(error: TraceError) -> TraceError {
    match error {
        TraceError::Io { path, source } => match source.downcast::<TraceError>() {
            Ok(inner) => inner,
            Err(source) => TraceError::Io { path, source },
        },
        other => other,
    }
}

struct Native {
    reader: NativeReader<Input>,
    batch: Vec<Request>,
    /// For each volume of the file, its index among those of all merged files.
    volumes: Vec<u32>,
}

impl Decode for Native {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        while out.len() < limit {
            self.reader.next_batch(&mut self.batch, limit - out.len()).map_err(unwrapped)?;
            if self.batch.is_empty() {
                break;
            }
            for name in &self.reader.volumes()[self.volumes.len()..] {
                self.volumes.push(cx.volumes.named(name.as_bytes()));
            }
            out.extend(self.batch.iter().map(|request| {
                // Traces without volume names keep their numbers.
                let volume = self.volumes.get(request.volume as usize);
                Request { volume: volume.copied().unwrap_or(request.volume), ..*request }
            }));
        }
        Ok(())
    }
}
