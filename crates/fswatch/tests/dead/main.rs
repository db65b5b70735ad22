//! Dead data inferred from a file system's writes: that it is found, and above all that nothing
//! alive is ever taken for dead. The layer below is a plain array that drops a marked page at once,
//! which is the strictest of layers: whatever is wrong is lost.

mod disk;
mod exfat_image;
mod fat_image;
mod host_cache;
mod tables_image;

mod deleting;
mod exfat;
mod figures;
mod finding;
mod foreign;
mod garbled;
mod host;
mod reordering;
mod unwatched;
