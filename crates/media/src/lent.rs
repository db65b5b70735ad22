//! A chip that comes back: whoever it is lent to may fail, and drop it.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
};

use crate::Medium;

type Home = Arc<Mutex<Option<Box<dyn Medium>>>>;

/// A chip on loan. Dropped, it goes back to its [`Lender`].
pub struct Lent {
    chip: Option<Box<dyn Medium>>,
    home: Home,
}

/// Where a chip that was lent comes back to.
pub struct Lender(Home);

impl Lent {
    /// Lends a chip.
    #[must_use]
    pub fn new(chip: Box<dyn Medium>) -> (Self, Lender) {
        let home = Home::default();
        (Self { chip: Some(chip), home: home.clone() }, Lender(home))
    }
}

impl Lender {
    /// The chip, if it has come back.
    #[must_use]
    pub fn take_back(&self) -> Option<Box<dyn Medium>> {
        // A chip is not left half moved.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Deref for Lent {
    type Target = dyn Medium;

    fn deref(&self) -> &Self::Target {
        self.chip.as_deref().expect("it is here until it is dropped")
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.chip.as_deref_mut().expect("it is here until it is dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = self.chip.take();
    }
}
