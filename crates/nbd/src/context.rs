//! Metadata contexts: information about a range besides its bytes.

use std::ops::{BitOr, BitOrAssign};

/// A metadata context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// `base:allocation`. Status: [`STATE_HOLE`](crate::wire::STATE_HOLE) and
    /// [`STATE_ZERO`](crate::wire::STATE_ZERO).
    Allocation,
    /// `x-thermocline:temperature`. Status: 0 where nothing is stored, else one more than the
    /// number of the stream that holds the page. A stream is a class of data with its own open
    /// block.
    Temperature,
}

impl Context {
    /// All contexts.
    pub const ALL: [Context; 2] = [Context::Allocation, Context::Temperature];

    /// Its name, namespace and leaf.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Context::Allocation => "base:allocation",
            Context::Temperature => "x-thermocline:temperature",
        }
    }

    /// Its number on the wire.
    #[must_use]
    #[inline]
    pub fn id(self) -> u32 {
        match self {
            Context::Allocation => 1,
            Context::Temperature => 2,
        }
    }
}

/// A set of metadata contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contexts(u8);

impl Contexts {
    /// No context.
    pub const NONE: Contexts = Contexts(0);
    /// `base:allocation` alone.
    pub const ALLOCATION: Contexts = Contexts(1);
    /// Every context.
    pub const ALL: Contexts = Contexts(3);

    /// True if there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if `context` is one of them.
    #[must_use]
    #[inline]
    pub fn has(self, context: Context) -> bool {
        self.0 & Contexts::from(context).0 != 0
    }

    /// The members of the set with these numbers; `None` if one is not in it or is given twice.
    pub(crate) fn select(self, ids: &[[u8; 4]]) -> Option<Contexts> {
        ids.iter().try_fold(Contexts::NONE, |chosen, id| {
            let id = u32::from_be_bytes(*id);
            let context = self.without_all(chosen).iter().find(|context| context.id() == id)?;
            Some(chosen | context.into())
        })
    }

    fn without_all(self, others: Contexts) -> Contexts {
        Contexts(self.0 & !others.0)
    }

    /// The set without `context`.
    #[must_use]
    pub(crate) fn without(self, context: Context) -> Contexts {
        self.without_all(context.into())
    }

    /// The contexts, in the order of replies.
    pub fn iter(self) -> impl Iterator<Item = Context> {
        Context::ALL.into_iter().filter(move |context| self.has(*context))
    }

    /// The members of the set that match a client's query. A namespace alone (`base:`) matches all
    /// of it if `wildcards` are allowed, and nothing if not.
    pub(crate) fn matching(self, query: &str, wildcards: bool) -> Contexts {
        let found = |context: &Context| {
            let name = context.name();
            query == name
                || wildcards
                    && query.ends_with(':')
                    && name.split_inclusive(':').next() == Some(query)
        };
        self.iter().filter(found).fold(Contexts::NONE, |set, context| set | context.into())
    }
}

impl From<Context> for Contexts {
    #[inline]
    fn from(context: Context) -> Self {
        Contexts(context.id() as u8)
    }
}

impl BitOr for Contexts {
    type Output = Contexts;

    fn bitor(self, other: Contexts) -> Contexts {
        Contexts(self.0 | other.0)
    }
}

impl BitOrAssign for Contexts {
    fn bitor_assign(&mut self, other: Contexts) {
        self.0 |= other.0;
    }
}
