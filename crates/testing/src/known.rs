//! What a host knows of pages when the power may fail: a page holds a number, 0 for no data.

/// What a host did.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    /// That page got that content.
    Put(u64, u64),
    /// The same, with an error.
    Tried(u64, u64),
    /// A flush was acknowledged.
    Flushed,
}

/// What each page may hold after a loss of power, and what it may hold now.
#[derive(Clone, Debug)]
pub struct Known {
    /// After a loss of power.
    pub allowed: Vec<Vec<u64>>,
    /// Now.
    pub now: Vec<Vec<u64>>,
}

impl Known {
    /// All of it lasts.
    #[must_use]
    pub fn of(contents: &[Vec<u64>]) -> Self {
        Self { allowed: contents.to_vec(), now: contents.to_vec() }
    }

    /// Learns what was done.
    pub fn learn(&mut self, deed: Deed) {
        match deed {
            Deed::Put(page, content) => {
                self.allowed[page as usize].push(content);
                self.now[page as usize] = vec![content];
            }
            Deed::Tried(page, content) => {
                self.allowed[page as usize].push(content);
                self.now[page as usize].push(content);
            }
            Deed::Flushed => self.allowed.clone_from(&self.now),
        }
    }
}
