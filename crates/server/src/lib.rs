//! The flash memory server: exports a translation layer over a chip as block devices, by NBD.
