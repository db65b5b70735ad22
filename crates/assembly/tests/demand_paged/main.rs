//! The layer with its map on the chip, on chips of a server.

mod cuts;
mod hurt;
mod life;
mod lives;
mod model;
