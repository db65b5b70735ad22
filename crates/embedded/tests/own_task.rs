//! A store for asynchronous tasks: the layer waits for its chip in a thread, or a task of low priority, of its own, and the
//! others wait for it. `docs/embedding.md` says why.
//!
//! Here the threads are those of the host. With Embassy the loop of [`serve`] is a task of an `InterruptExecutor` of low
//! priority, or of the thread-mode executor below interrupt executors, and [`Mailbox`] is a `Channel` and a `Signal`.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{Arc, Condvar, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread,
};

use thermocline_embedded::{
    AREA, Config, Error, Ftl, Geometry, Nand, NandError, Static,
    policy::{Cat, Dac},
};

const PAGE: usize = 256;
type Page = [u8; PAGE];

/// What a task asks for. There is one at a time, so a page is in it.
#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant)]
enum Request {
    Read(u32),
    Write(u32, Page),
    Flush,
    Stop,
}

/// One request at a time, and its answer. Whoever asked is woken.
#[derive(Default)]
struct Slot {
    request: Option<Request>,
    answer: Option<Result<Page, Error>>,
    is_taken: bool,
    waiting: Vec<Waker>,
}

#[derive(Default)]
struct Mailbox {
    slot: Mutex<Slot>,
    asked: Condvar,
}

impl Mailbox {
    async fn ask(&self, request: Request) -> Result<Page, Error> {
        Asked { mailbox: self, request: Some(request) }.await
    }
}

/// A request that is put into the mailbox when that is free, and waits for its answer.
struct Asked<'a> {
    mailbox: &'a Mailbox,
    request: Option<Request>,
}

impl Future for Asked<'_> {
    type Output = Result<Page, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mailbox = self.mailbox;
        let mut slot = mailbox.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if self.request.is_some() && !slot.is_taken {
            slot.request = self.request.take();
            slot.is_taken = true;
            mailbox.asked.notify_one();
        } else if self.request.is_none()
            && let Some(answer) = slot.answer.take()
        {
            slot.is_taken = false;
            slot.waiting.drain(..).for_each(Waker::wake);
            return Poll::Ready(answer);
        }
        slot.waiting.push(context.waker().clone());
        Poll::Pending
    }
}

/// The layer's own task: it alone waits for the chip.
fn serve(mailbox: &Mailbox, mut ftl: Ftl<'_, Ram, Cat, Dac<4>>) {
    loop {
        let mut slot = mailbox.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let request = loop {
            match slot.request.take() {
                Some(request) => break request,
                None => slot = mailbox.asked.wait(slot).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(slot);
        let mut page = [0; PAGE];
        let done = match request {
            Request::Read(lpn) => ftl.read(lpn, &mut page).map(drop),
            Request::Write(lpn, page) => ftl.write(lpn, &page),
            Request::Flush => ftl.flush(),
            Request::Stop => ftl.checkpoint(),
        };
        let mut slot = mailbox.slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.answer = Some(done.map(|()| page));
        slot.waiting.drain(..).for_each(Waker::wake);
        if matches!(request, Request::Stop) {
            return;
        }
    }
}

struct Ram(Vec<u8>);
const STEP: usize = PAGE + AREA;

impl Nand for Ram {
    fn geometry(&self) -> Geometry {
        Geometry { blocks: 48, pages: 16, page_size: PAGE as u32 }
    }
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        into.copy_from_slice(&self.0[page as usize * STEP + offset as usize..][..into.len()]);
        Ok(())
    }
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.read(page, PAGE as u32, into)
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        let to = &mut self.0[page as usize * STEP..][..STEP];
        to[..PAGE].copy_from_slice(data);
        to[PAGE..].copy_from_slice(area);
        Ok(())
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.0[block as usize * 16 * STEP..][..16 * STEP].fill(0xff);
        Ok(())
    }
    fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }
    fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
}

/// Wakes a thread that runs tasks.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs two tasks on this thread until both are done.
fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    loop {
        if of_a.is_none()
            && let Poll::Ready(done) = a.as_mut().poll(&mut context)
        {
            of_a = Some(done);
        }
        if of_b.is_none()
            && let Poll::Ready(done) = b.as_mut().poll(&mut context)
        {
            of_b = Some(done);
        }
        match (of_a.take(), of_b.take()) {
            (Some(a), Some(b)) => return (a, b),
            (a, b) => (of_a, of_b) = (a, b),
        }
        thread::park();
    }
}

/// Writes its own pages over and over, and reads each back.
async fn client(mailbox: &Mailbox, first: u32) -> Result<(), Error> {
    for round in 0..60_u8 {
        for lpn in first..first + 20 {
            mailbox.ask(Request::Write(lpn, [round ^ lpn as u8; PAGE])).await?;
        }
        mailbox.ask(Request::Flush).await?;
        for lpn in first..first + 20 {
            assert_eq!(mailbox.ask(Request::Read(lpn)).await?, [round ^ lpn as u8; PAGE]);
        }
    }
    // What is wrong comes back as a value to whoever asked.
    assert_eq!(mailbox.ask(Request::Read(1 << 20)).await, Err(Error::OutOfRange(1 << 20)));
    Ok(())
}

#[test]
fn tasks_share_a_store_that_waits_for_its_chip_in_a_task_of_its_own() -> Result<(), Error> {
    let mailbox = Mailbox::default();
    let mut memory = Static::<48, 4, 64, PAGE>::new();
    let config = Config { logical_pages: 250, ..Config::default() };
    let chip = Ram(vec![0xff; 48 * 16 * STEP]);
    let ftl = Ftl::format(chip, memory.memory(), Cat::default(), Dac::<4>, config)?;
    thread::scope(|scope| {
        scope.spawn(|| serve(&mailbox, ftl));
        let (a, b) = join(client(&mailbox, 0), client(&mailbox, 100));
        let stopped = join(mailbox.ask(Request::Stop), async {}).0;
        a.and(b).and(stopped.map(drop))
    })
}
