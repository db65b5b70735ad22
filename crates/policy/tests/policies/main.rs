//! Policies without a layer. One binary, because linking costs more than the tests.

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
