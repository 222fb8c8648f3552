//! System variables: flavors, and what variables of several names choose from.

mod choices;
mod flavor;
mod nearest;

pub use choices::{
    DoublewriteFsync, DoublewriteMode, FlushLatch, FlushMethod, ReadViewAlgorithm,
    TransactionIsolation,
};
pub use flavor::{Flavor, UnknownFlavor};
pub use nearest::nearest;
