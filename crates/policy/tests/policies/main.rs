//! Policies without a layer around them. One binary: a link costs more than what it links here.

mod arguments;
mod common;
mod contributing;
mod documented;
mod exact_victims;
mod modern;
mod oracle;
mod own_order;
mod placements;
mod sublinear;
mod weight;
