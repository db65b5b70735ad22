//! USB captures: the SCSI commands sent to disks and sticks, over either transport.
//!
//! [`text`] and [`pcap`] parse transfers from recordings, [`disks`] turns them into requests. Only
//! two registry entries are visible outside.

mod arrivals;
mod bot;
mod data;
mod device;
mod disks;
#[cfg(feature = "usb-captures")]
mod pcap;
mod pcap_magic;
mod scsi;
mod shared;
mod start;
mod text;
mod transfer;
mod uas;
mod unit;

#[cfg(feature = "usb-captures")]
pub(super) use pcap::CAPTURE;
#[cfg(not(feature = "usb-captures"))]
pub(super) use pcap_magic::CAPTURE_REFUSED;
pub(super) use text::USBMON;
