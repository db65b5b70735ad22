//! A trace split into its volumes, in one pass, in one temporary file.
//!
//! Requests of each volume are collected in memory and appended to the file in chunks, so neither thousands
//! of open files nor the trace in memory is needed. Requests keep the numbers of their volumes: a volume's
//! part equals the result of [`SelectVolumes`](thermocline_trace::transform::SelectVolumes) on the whole
//! trace.

#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::{fs::File, ops::Deref, path::Path, sync::Arc};

use sha2::{Digest, Sha256};
use thermocline_sim::{Progress, SimError};
use thermocline_trace::{Op, Request, Source, TraceError};

use crate::digest::hex;

/// Bytes of requests in memory before they are written.
const BUFFERED: usize = 64 << 20;
/// Bytes of a request in the file.
const REQUEST: usize = 27;
/// Requests handled together.
const BATCH: usize = 4096;
/// In the order of their numbers.
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// The volumes of a trace.
#[derive(Debug)]
pub struct Volumes {
    file: File,
    names: Vec<String>,
    volumes: Vec<Volume>,
}

/// A volume, and where its requests are.
#[derive(Clone, Debug)]
pub struct Volume {
    /// Its name, or its number where it has none.
    pub name: String,
    /// Its number in the trace.
    pub number: u32,
    /// Requests of all kinds.
    pub requests: u64,
    /// Its reads, and its writes.
    pub reads: u64,
    /// As above.
    pub writes: u64,
    /// Bytes of its writes.
    pub bytes_written: u64,
    /// SHA-256 of its requests.
    pub digest: String,
    /// Places in the file and numbers of requests.
    chunks: Vec<(u64, usize)>,
}

/// A volume while the trace is read.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    hash: Sha256,
    requests: u64,
    reads: u64,
    writes: u64,
    bytes_written: u64,
    chunks: Vec<(u64, usize)>,
}

impl Volume {
    /// The share of reads among its reads and writes.
    #[must_use]
    pub fn read_share(&self) -> f64 {
        self.reads as f64 / (self.reads + self.writes).max(1) as f64
    }
}

impl Volumes {
    /// Takes a trace apart.
    ///
    /// # Errors
    /// Those of the source; [`SimError::Failed`] if the temporary folder is full;
    /// [`SimError::Interrupted`].
    pub fn of(source: &mut dyn Source, progress: &Progress) -> Result<Self, SimError> {
        let file = tempfile::tempfile().map_err(|e| spool_error(&e))?;
        let mut end = 0;
        let mut pending: Vec<Pending> = Vec::new();
        let (mut batch, mut buffered) = (Vec::with_capacity(BATCH), 0);
        loop {
            source.next_batch(&mut batch, BATCH)?;
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            for request in &batch {
                let number = request.volume as usize;
                if number >= pending.len() {
                    pending.resize_with(number + 1, Pending::default);
                }
                pending[number].add(request);
                buffered += REQUEST;
            }
            if batch.is_empty() || buffered >= BUFFERED {
                for volume in &mut pending {
                    volume.flush(&file, &mut end).map_err(|e| spool_error(&e))?;
                }
                buffered = 0;
            }
            if batch.is_empty() {
                break;
            }
        }
        let names = source.volumes().to_vec();
        let volumes = pending.into_iter().enumerate().filter(|(_, volume)| volume.requests > 0);
        let volumes = volumes.map(|(number, volume)| Volume {
            name: names.get(number).cloned().unwrap_or_else(|| number.to_string()),
            number: number as u32,
            requests: volume.requests,
            reads: volume.reads,
            writes: volume.writes,
            bytes_written: volume.bytes_written,
            digest: hex(&volume.hash.finalize()),
            chunks: volume.chunks,
        });
        Ok(Self { file, volumes: volumes.collect(), names })
    }

    /// The volumes with requests, in the order of their first ones.
    #[must_use]
    pub fn all(&self) -> &[Volume] {
        &self.volumes
    }

    /// The requests of a volume.
    #[must_use]
    pub fn source(&self, volume: usize) -> VolumeSource<&Self> {
        VolumeSource { all: self, volume, chunk: 0, done: 0 }
    }

    /// As above, for whoever outlives the caller.
    #[must_use]
    pub fn shared_source(self: Arc<Self>, volume: usize) -> VolumeSource<Arc<Self>> {
        VolumeSource { all: self, volume, chunk: 0, done: 0 }
    }
}

impl Pending {
    fn add(&mut self, request: &Request) {
        let mut bytes = [0; REQUEST];
        bytes[..8].copy_from_slice(&request.time_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&request.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&request.len.to_le_bytes());
        bytes[24] = request.op as u8;
        bytes[25..].copy_from_slice(&request.hint.to_le_bytes());
        // Hints came later, and digests stay.
        self.hash.update(if request.hint == 0 { &bytes[..25] } else { &bytes[..] });
        self.bytes.extend_from_slice(&bytes);
        self.requests += 1;
        self.reads += u64::from(request.op == Op::Read);
        if request.op == Op::Write {
            self.writes += 1;
            self.bytes_written = self.bytes_written.saturating_add(request.len);
        }
    }

    fn flush(&mut self, file: &File, end: &mut u64) -> std::io::Result<()> {
        if !self.bytes.is_empty() {
            file.write_all_at(&self.bytes, *end)?;
            self.chunks.push((*end, self.bytes.len() / REQUEST));
            *end += self.bytes.len() as u64;
            // Most volumes have few requests: what one took once, another may need.
            self.bytes = Vec::new();
        }
        Ok(())
    }
}

/// The requests of one volume, in the order of the trace.
#[derive(Debug)]
pub struct VolumeSource<V> {
    all: V,
    volume: usize,
    chunk: usize,
    /// Requests of the chunk that were delivered.
    done: usize,
}

impl<V: Deref<Target = Volumes>> Source for VolumeSource<V> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        let volume = &self.all.volumes[self.volume];
        while batch.len() < limit && self.chunk < volume.chunks.len() {
            let (place, requests) = volume.chunks[self.chunk];
            let count = (requests - self.done).min(limit - batch.len());
            let mut bytes = vec![0; count * REQUEST];
            let place = place + (self.done * REQUEST) as u64;
            let read = self.all.file.read_exact_at(&mut bytes, place);
            let path = || Path::new("a temporary file").to_owned();
            read.map_err(|source| TraceError::Io { path: path(), source })?;
            let number = volume.number;
            batch.extend(bytes.as_chunks::<REQUEST>().0.iter().map(|bytes| request(bytes, number)));
            self.done += count;
            if self.done == requests {
                (self.chunk, self.done) = (self.chunk + 1, 0);
            }
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.all.names
    }
}

fn request(bytes: &[u8; REQUEST], volume: u32) -> Request {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let op = OPS[usize::from(bytes[24])];
    Request {
        time_ns: word(0),
        offset: word(8),
        len: word(16),
        volume,
        op,
        hint: u16::from_le_bytes([bytes[25], bytes[26]]),
    }
}

/// A browser has no temporary files.
#[cfg(not(unix))]
trait FileExt {
    fn write_all_at(&self, _: &[u8], _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn read_exact_at(&self, _: &mut [u8], _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(unix))]
impl FileExt for File {}

fn spool_error(error: &std::io::Error) -> SimError {
    SimError::Failed(format!(
        "temporary file in {}: {error}; point TMPDIR at a folder with more room",
        std::env::temp_dir().display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Many(Vec<Request>, Vec<String>);

    impl Source for Many {
        fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
            batch.clear();
            batch.extend(self.0.drain(..limit.min(self.0.len())));
            Ok(())
        }

        fn volumes(&self) -> &[String] {
            &self.1
        }
    }

    #[test]
    fn every_volume_has_its_requests_in_order() {
        let request = |i: u64| Request {
            time_ns: i,
            offset: i * 512,
            len: 512,
            volume: (i * i % 7) as u32,
            op: OPS[(i % 4) as usize],
            hint: 0,
        };
        let all: Vec<_> = (0..10_000).map(request).collect();
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let mut source = Many(all.clone(), names);
        let volumes = Volumes::of(&mut source, &Progress::default()).expect("taken apart");
        let found: Vec<_> = volumes.all().iter().map(|volume| volume.name.as_str()).collect();
        // Squares modulo 7 are 0, 1, 2 and 4.
        assert_eq!(found, ["a", "b", "c", "4"]);
        for (at, volume) in volumes.all().iter().enumerate() {
            let (mut source, mut batch, mut read) = (volumes.source(at), Vec::new(), Vec::new());
            loop {
                source.next_batch(&mut batch, 100).expect("read");
                if batch.is_empty() {
                    break;
                }
                read.append(&mut batch);
            }
            let expected: Vec<_> =
                all.iter().filter(|request| request.volume == volume.number).copied().collect();
            assert_eq!((read.len() as u64, read), (volume.requests, expected));
        }
    }
}
