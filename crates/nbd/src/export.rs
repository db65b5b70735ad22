//! What a server offers: exports, their sizes and their names.

use crate::{
    context::Contexts,
    negotiated::Headers,
    wire::{self, DEFAULT_MAX_PAYLOAD, MAX_STRING},
};

/// Sizes of requests, in bytes (doc/proto.md, "Size constraints").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths are multiples of this. A power of two, at most 65,536.
    pub minimum: u32,
    /// Requests of this size and alignment need no read-modify-write. A power of two, at least 512
    /// and at least `minimum`.
    pub preferred: u32,
    /// The longest payload of a read or write, at least `preferred`, at most 1 GiB.
    pub maximum: u32,
}

impl BlockSizes {
    /// The sizes assumed by clients that received none: any byte, 4 KiB preferred, up to 32 MiB.
    pub const DEFAULT: BlockSizes =
        BlockSizes { minimum: 1, preferred: 4096, maximum: DEFAULT_MAX_PAYLOAD };
}

impl Default for BlockSizes {
    fn default() -> Self {
        BlockSizes::DEFAULT
    }
}

/// A block device that clients open by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name, at most 4096 bytes.
    pub name: String,
    /// Description, at most 4096 bytes; may be empty.
    pub description: String,
    /// Size in bytes, a multiple of `blocks.minimum`.
    pub size: u64,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether a flush or a forced write on one connection covers all, so that clients may use
    /// several.
    pub multi_conn: bool,
    /// Whether the medium rotates.
    pub rotational: bool,
    /// Whether TLS is required.
    pub tls_only: bool,
    /// Whether the export is invisible to the current client.
    pub hidden: bool,
    /// Sizes of requests.
    pub blocks: BlockSizes,
    /// Metadata contexts that clients may select.
    pub contexts: Contexts,
}

impl Export {
    /// A writable export that several connections may share, with the default sizes and
    /// `base:allocation`.
    #[must_use]
    pub fn new(name: impl Into<String>, size: u64) -> Export {
        Export {
            name: name.into(),
            description: String::new(),
            size,
            read_only: false,
            multi_conn: true,
            rotational: false,
            tls_only: false,
            hidden: false,
            blocks: BlockSizes::DEFAULT,
            contexts: Contexts::ALLOCATION,
        }
    }

    /// The transmission flags for a client that negotiated `headers`.
    pub(crate) fn flags(&self, headers: Headers, contexts: Contexts) -> u16 {
        let mut flags = wire::SEND_HAS_FLAGS | wire::SEND_FLUSH | wire::SEND_FUA | wire::SEND_CACHE;
        if self.read_only {
            flags |= wire::SEND_READ_ONLY;
        } else {
            flags |= wire::SEND_TRIM | wire::SEND_WRITE_ZEROES | wire::SEND_FAST_ZERO;
        }
        if self.multi_conn {
            flags |= wire::SEND_MULTI_CONN;
        }
        if self.rotational {
            flags |= wire::SEND_ROTATIONAL;
        }
        if headers != Headers::Simple {
            flags |= wire::SEND_DF;
        }
        if headers == Headers::Extended && !contexts.is_empty() {
            flags |= wire::SEND_BLOCK_STATUS_PAYLOAD;
        }
        flags
    }

    fn check(&self) -> Result<(), ExportError> {
        let wrong = |what: &'static str| Err(ExportError::Wrong { name: self.name.clone(), what });
        let BlockSizes { minimum, preferred, maximum } = self.blocks;
        if !is_string(&self.name) {
            return wrong("its name has a NUL or more than 4096 bytes; shorten it");
        }
        if !is_string(&self.description) {
            return wrong("its description has a NUL or more than 4096 bytes; shorten it");
        }
        if !minimum.is_power_of_two() || minimum > 1 << 16 {
            return wrong("its minimum block size is no power of two up to 65536");
        }
        if !preferred.is_power_of_two() || preferred < minimum.max(512) {
            return wrong(
                "its preferred block size is no power of two from 512 and the minimum on",
            );
        }
        if maximum < preferred || maximum > 1 << 30 {
            return wrong("its maximum payload is not between its preferred block size and 1 GiB");
        }
        if !self.size.is_multiple_of(u64::from(minimum)) {
            return wrong("its size is no multiple of its minimum block size");
        }
        // Clients and files support signed 64-bit offsets.
        if i64::try_from(self.size).is_err() {
            return wrong("its size is 2^63 bytes or more");
        }
        Ok(())
    }
}

/// True if `text` is a valid string of the protocol.
pub(crate) fn is_string(text: &str) -> bool {
    text.len() <= MAX_STRING && !text.contains('\0')
}

/// Why a list of exports cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// An export breaks a rule of the protocol.
    #[error("export {name:?}: {what}")]
    Wrong {
        /// Its name.
        name: String,
        /// The rule, and the remedy.
        what: &'static str,
    },
    /// Two exports with the same name.
    #[error("two exports named {name:?}; give each its own name")]
    Twice {
        /// The name.
        name: String,
    },
}

/// The exports of a server, all checked.
#[derive(Clone, Debug, Default)]
pub struct Exports {
    list: Vec<Export>,
}

impl Exports {
    /// Checks names and sizes.
    ///
    /// # Errors
    ///
    /// An export that violates a rule of the protocol, or two exports with the same name.
    pub fn new(list: Vec<Export>) -> Result<Exports, ExportError> {
        for (index, export) in list.iter().enumerate() {
            export.check()?;
            if list[..index].iter().any(|other| other.name == export.name) {
                return Err(ExportError::Twice { name: export.name.clone() });
            }
        }
        Ok(Exports { list })
    }

    /// The exports, in the order given.
    #[must_use]
    pub fn list(&self) -> &[Export] {
        &self.list
    }

    /// A copy in which exports that are not admitted to the current client are hidden.
    #[must_use]
    pub fn only(&self, admits: impl Fn(usize) -> bool) -> Exports {
        let hide = |(index, export): (usize, &Export)| Export {
            hidden: export.hidden || !admits(index),
            ..export.clone()
        };
        Exports { list: self.list.iter().enumerate().map(hide).collect() }
    }

    /// The export with this name and its index. The empty name means the first export, unless an
    /// export really has that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(usize, &Export)> {
        let named = self.list.iter().position(|export| export.name == name);
        let index = named.or(name.is_empty().then_some(0))?;
        let export = self.list.get(index).filter(|export| !export.hidden)?;
        Some((index, export))
    }
}
