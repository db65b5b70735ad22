//! USB captures: the SCSI commands that disks and sticks are sent, by either transport.
//!
//! [`text`] and [`pcap`] take transfers from what was recorded, [`disks`] makes requests of them.
//! Two rows of the registry are all that is seen from outside.

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
