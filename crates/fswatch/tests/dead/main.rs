//! Dead data inferred from a file system's writes: they are found, and live data are never taken
//! for dead. The layer below is an array that drops a marked page at once, which is the strictest
//! layer: any wrong mark loses data.

mod copied;
mod disk;
mod exfat_image;
mod ext_image;
mod fat_image;
mod host_cache;
mod ntfs_image;
mod tables_image;

mod deleting;
mod exfat;
mod ext;
mod figures;
mod finding;
mod foreign;
mod garbled;
mod host;
mod journalling;
mod ntfs;
mod ntfs_recovery;
mod ntfs_tools;
mod reordering;
mod unwatched;
