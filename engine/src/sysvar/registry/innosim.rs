//! innosim's own variables: algorithms of the server that can be exchanged to test a
//! hypothesis. No real server knows them; every flavor here does.

use super::definition::*;
use super::history::*;
use crate::sysvar::choices::{DoublewriteFsync, FlushLatch, ReadViewAlgorithm};
use crate::sysvar::flavor::Flavor::*;
use DefaultValue::Text;

// Kept by hand: one variable, its history, its meaning.
#[rustfmt::skip]
pub(super) static VARIABLES: &[VariableDefinition] = &[
    text("innosim_flush_policy").since(MySql5_1, Text("native51")).since(MySql5_6, Text("v56"))
        .since(MySql5_7, Text("v57")).mariadb(Text("maria105"))
        .meaning("Flush policy, by the name under which it is registered"),
    choice("innosim_read_view", ReadViewAlgorithm::NAMES).since(MySql5_1, Text("trx_list_walk"))
        .since(MySql5_7, Text("id_vector_copy")).mariadb(Text("id_vector_copy"))
        .meaning("How a read view is opened")
        .note("MariaDB walks a lock-free hash; the vector's copy stands in for it"),
    choice("innosim_flush_latch", FlushLatch::NAMES).everywhere(Text("full"))
        .meaning("How long a page under flush keeps writers out"),
    choice("innosim_doublewrite_fsync", DoublewriteFsync::NAMES).everywhere(Text("method"))
        .meaning("Whether a doublewrite batch is flushed to the device"),
];
