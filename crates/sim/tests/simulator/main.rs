//! Runs of the simulator. One binary, because linking costs more than the tests.

mod answer;
mod banks;

mod cat_tables;
mod common;
mod dac_figure12;
mod dftl;
mod hints;
mod hplajw;
mod instructions;
mod load;
mod map_cache;
mod oracle;
mod page_mapped_fsaf;
mod page_pairs;
mod proved;
mod reads_first;
mod result_keys;
mod runs;
mod settling;
mod slac_fsaf;
mod slc_cache;
mod striping;
mod superblocks;
mod update_interval;
mod warm_up;
mod watched;
mod write_buffer;
