//! A run on a stack of its own, which stops where one of its policies asks, and goes on with the answer.

#![allow(unsafe_code)]

use std::{
    io, ptr,
    sync::{
        Arc,
        atomic::{AtomicPtr, Ordering::Relaxed},
    },
};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};

/// Bytes of a stack; the system gives those that are used.
const STACK: usize = 4 << 20;

type Asks = Yielder<u32, ()>;

/// Stops the run that it belongs to.
#[derive(Debug, Default)]
pub struct Asker(AtomicPtr<Asks>);

impl Asker {
    /// Stops until there is an answer. Called on the stack of the run alone.
    pub fn ask(&self) -> u32 {
        let asks = self.0.load(Relaxed);
        assert!(!asks.is_null(), "a policy asked outside its run");
        // SAFETY: it is set while the body of the coroutine lives, on whose stack all policies of a run are called: a
        // run starts no thread that calls them, and the object that holds the coroutine stays on its thread.
        unsafe { &*asks }.suspend(())
    }
}

/// A run that has begun.
pub struct Fiber<R>(Coroutine<u32, (), R>);

impl<R: 'static> Fiber<R> {
    /// Prepares a run, whose policies stop it by `asker`.
    ///
    /// # Errors
    /// There is no memory for its stack.
    pub fn new(asker: Arc<Asker>, run: impl FnOnce() -> R + 'static) -> io::Result<Self> {
        let stack = DefaultStack::new(STACK)?;
        Ok(Self(Coroutine::with_stack(stack, move |asks: &Asks, _| {
            asker.0.store(ptr::from_ref(asks).cast_mut(), Relaxed);
            let ended = run();
            asker.0.store(ptr::null_mut(), Relaxed);
            ended
        })))
    }

    /// Goes on with an answer, to the next question or the end, whose result it gives.
    pub fn go_on(&mut self, answer: u32) -> Option<R> {
        match self.0.resume(answer) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(ended) => Some(ended),
        }
    }
}
