//! The layer whose map lies on its chip, on chips of a server.

mod cuts;
mod hurt;
mod life;
mod lives;
mod model;
