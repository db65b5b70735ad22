//! Captures of USB in pcap and pcapng files: tcpdump and Wireshark on Linux (usbmon), USBPcap on
//! Windows.
//!
//! Requests are the SCSI commands to disks and sticks. Times are in nanoseconds since the first
//! packet of the capture, or of the earliest file if several are merged. A request arrives when its
//! command is sent. The volume is `bus.device`, with `.unit` for all but the first logical unit.
//! The data that Bulk-Only devices wrote and read are the contents.

mod capture;
mod headers;

use super::{disks::Disks, pcap_magic::is_capture, start::Start};
use crate::{
    Contents, Place, Request, TraceError,
    read::{
        context::Context,
        decode::{Decode, FULL},
        entry::{Entry, Special},
        fault::Fault,
        input::{Input, LARGEST},
        sample::Hit,
    },
};
use capture::{Capture, Step};
use headers::Found;

const DAMAGED: &str = "the capture is damaged from here on; record it again";

/// Why packets yield no request; completes "3 rows left out: …".
const CUT: &str = "packets cut within their USB header; record with a larger snapshot length \
     (tcpdump -s)";
const OTHER_LINK: &str = "packets of other links than USB";
const TIMELESS: &str = "packets without a time (simple or obsolete packet blocks)";

/// Warning for the user.
const UNFINISHED: &str = "the capture ends within a packet, which is left out";

pub(in crate::read::formats) const CAPTURE: Entry = Entry {
    name: "usb-pcap",
    about: "USB capture, pcap or pcapng: SCSI commands to disks and sticks (usbmon, USBPcap)",
    source: "tcpdump.org link types 189, 220, 249; USB Bulk-Only Transport 1.0; UAS; SBC-4",
    special: Special::NONE,
    detect: |sample| {
        is_capture(sample.bytes).then_some(Hit { score: 100, from: "the magic number of pcap" })
    },
    open: |setup| {
        let first_times = setup.inputs.iter().filter_map(|input| first_time(input.window()));
        let start = Start::of(first_times);
        let contents = setup.contents;
        setup.each(|input| UsbPcap::open(input, start.clone(), Disks::new(contents)))
    },
};

/// The time of the first packet.
fn first_time(bytes: &[u8]) -> Option<u64> {
    let (mut capture, mut at) = Capture::of(bytes)?;
    loop {
        match capture.step(&bytes[at..]) {
            Step::Packet(packet, _) => return Some(packet.time_ns),
            Step::Other(taken) | Step::Timeless(taken) => at += taken,
            Step::More | Step::Bad(_) => return None,
        }
    }
}

struct UsbPcap {
    input: Input,
    capture: Capture,
    disks: Disks,
    start: Start,
    contents: Contents,
    /// Whether the packets have ended. An error is returned after what is held back.
    ended: Option<Result<(), TraceError>>,
}

impl Decode for UsbPcap {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        self.contents.clear();
        loop {
            while out.len() < limit && !self.is_full() {
                let Some((request, bytes)) = self.disks.next() else { break };
                if let Some(bytes) = bytes {
                    self.contents.push(out.len(), &bytes);
                    self.disks.recycle(bytes);
                }
                out.push(request);
            }
            if out.len() >= limit || self.is_full() {
                return Ok(());
            }
            if let Some(ended) = &mut self.ended {
                return std::mem::replace(ended, Ok(()));
            }
            match self.packet(cx) {
                Ok(true) => {}
                ended => {
                    self.ended = Some(ended.map(|_| ()));
                    self.disks.finish(cx);
                }
            }
        }
    }

    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn is_full(&self) -> bool {
        self.contents.len_bytes() >= FULL
    }
}

impl UsbPcap {
    fn open(mut input: Input, start: Start, disks: Disks) -> Result<UsbPcap, TraceError> {
        let format = |what: String, remedy: &str| TraceError::Format {
            path: input.path().to_owned(),
            what,
            remedy: remedy.into(),
        };
        let Some((capture, header)) = Capture::of(input.window()) else {
            return Err(format(
                "this is neither a pcap nor a pcapng file".into(),
                "name the right format with ‹trace-format›",
            ));
        };
        if let Some(link) = capture.link().filter(|link| !headers::is_read(*link)) {
            return Err(format(
                format!(
                    "this capture is not of USB as usbmon and USBPcap record it ({})",
                    headers::name(link)
                ),
                "capture the interface usbmon1 (or another bus) on Linux, USBPcap1 on Windows",
            ));
        }
        input.consume(header);
        Ok(UsbPcap { input, capture, disks, start, contents: Contents::default(), ended: None })
    }

    /// Handles the next packet or block; false at the end.
    #[inline]
    fn packet(&mut self, cx: &mut Context) -> Result<bool, TraceError> {
        let taken = match self.capture.step(self.input.window()) {
            Step::Packet(packet, taken) => {
                let start = self.start.or(packet.time_ns);
                match headers::transfer(&packet, start) {
                    Found::Transfer(transfer) => self.disks.transfer(&transfer, cx),
                    Found::Nothing => {}
                    Found::Cut => cx.drop_row(CUT),
                    Found::OtherLink => cx.drop_row(OTHER_LINK),
                }
                taken
            }
            Step::Other(taken) => taken,
            Step::Timeless(taken) => {
                cx.drop_row(TIMELESS);
                taken
            }
            Step::More => return self.more(cx),
            Step::Bad(what) => return Err(self.fault(what, DAMAGED)),
        };
        self.input.consume(taken);
        Ok(true)
    }

    /// Reads more, because the packet is incomplete; false if there is no more.
    fn more(&mut self, cx: &mut Context) -> Result<bool, TraceError> {
        if self.input.window().len() >= LARGEST {
            let what = format!("the next packet is longer than {} MiB", LARGEST >> 20);
            let remedy = "the capture is damaged, or record it with a smaller snapshot length \
                          (tcpdump -s 262144)";
            return Err(self.fault(what, remedy));
        }
        let more = self.input.fill()?;
        if !more && !self.input.window().is_empty() {
            // Captures usually end when the program is stopped.
            cx.remark(UNFINISHED);
        }
        Ok(more)
    }

    #[cold]
    fn fault(&self, what: String, remedy: &str) -> TraceError {
        let place = Place::Packet(self.capture.packets() + 1);
        Fault::with_remedy(what, remedy).at(self.input.path(), place)
    }
}
