//! The same by the async layer: what its code takes of flash, and its futures of RAM.

#![no_std]
#![no_main]

use core::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use thermocline_bisync::asynchronous as bisync;
use thermocline_embedded::asynchronous::{Ftl, Nand};
use thermocline_on_target::Outside;

#[path = "../size.rs"]
mod size;

#[unsafe(no_mangle)]
extern "C" fn program() -> bool {
    let work = size::work();
    let bytes = size_of_val(&work);
    let mut work = pin!(work);
    // The chip never waits: one poll would do.
    let is_well = loop {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(is_well) => break is_well,
            Poll::Pending => {}
        }
    };
    if is_well {
        size::report();
        Outside.words("of the stack the future of all this takes ");
        Outside.number(bytes);
        Outside.words(" bytes\n");
    }
    is_well
}
