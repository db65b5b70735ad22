//! The simulated chip behind a bus and a delay that are futures: each waits once before its work and once behind it, so that one
//! that is dropped may be done, or not.

use core::{future::poll_fn, mem::replace, task::Poll};

use embedded_hal_async::{
    delay::DelayNs,
    spi::{Operation, SpiDevice},
};

use crate::simulated::{PowerOff, Simulated};

impl SpiDevice for Simulated {
    async fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), PowerOff> {
        wait().await;
        let done = embedded_hal::spi::SpiDevice::transaction(self, operations);
        wait().await;
        done
    }
}

impl DelayNs for Simulated {
    async fn delay_ns(&mut self, ns: u32) {
        wait().await;
        embedded_hal::delay::DelayNs::delay_ns(self, ns);
        wait().await;
    }
}

/// Is pending once, and asks to be polled again.
async fn wait() {
    let mut is_over = false;
    poll_fn(|context| {
        if replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
