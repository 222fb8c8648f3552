//! B+trees on real pages: against a model, with many tasks at once under both clocks, and
//! the files they leave judged by other programs.

mod bulk;
mod concurrent;
mod crash;
mod files;
mod locks;
mod model;
mod world;
