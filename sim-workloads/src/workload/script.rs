//! The scripts: what one transaction consists of.
//!
//! A script is a name, a generation of sysbench, and a rule that turns random
//! numbers into one event, sysbench's word for one transaction (or one statement
//! that commits by itself):
//!
//! ```text
//!   oltp_read_write          sysbench-0.5/oltp        sysbench-0.4/complex
//!   BEGIN                    BEGIN                    BEGIN
//!   10 point    sbtest3      10 point    sbtest7      10 point    sbtest
//!   range       sbtest8      range          :         range         :
//!   sum         sbtest1      sum            :         sum           :
//!   order       sbtest5      order          :         order         :
//!   distinct    sbtest1      distinct       :         distinct      :
//!   update k    sbtest9      update k       :         update k      :
//!   update c    sbtest2      update c       :         update c      :
//!                                                     update k  \
//!   delete  \   sbtest4      delete  \      :         delete     } same id
//!   insert  /                insert  /   sbtest7      insert    /
//!   COMMIT                   COMMIT                   COMMIT
//! ```
//!
//! Names are sysbench 1.0's; the scripts of other generations have a prefix. One
//! file a generation: [`sysbench_1_0`] (also 1.1), [`sysbench_0_5`] (also the copies
//! that 1.0 ships as `oltp_legacy`), [`sysbench_0_4`].

mod draw;
mod names;
pub mod sysbench_0_4;
pub mod sysbench_0_5;
pub mod sysbench_1_0;

use rand::Rng;

use super::options::{OptionError, ScriptOptions};
use super::random::Distribution;
use super::random::unique::UniqueIds;
use super::statement::Statement;
use super::version::{Protocol, SysbenchVersion};
use draw::Draw;

/// Why a workload could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// No script has this name.
    #[error("no workload is called '{name}'; did you mean '{nearest}'? There are: {known}")]
    UnknownScript {
        /// The name asked for.
        name: String,
        /// The known name with the fewest differing letters.
        nearest: &'static str,
        /// All names, separated by commas.
        known: String,
    },
    /// An option is out of range.
    #[error(transparent)]
    Option(#[from] OptionError),
}

/// What is fixed about a script.
#[derive(Debug)]
pub struct ScriptInfo {
    /// The name, with its generation's prefix.
    pub name: &'static str,
    /// Whose rules hold: distributions, counting, report.
    pub version: SysbenchVersion,
    /// How its statements are sent.
    pub protocol: Protocol,
    /// One line for a list.
    pub summary: &'static str,
    kind: Kind,
}

impl ScriptInfo {
    /// Whether columns id and k are INTEGER (1.0's scripts) or INTEGER UNSIGNED (the
    /// older ones, also where 1.0 ships them).
    pub fn signed_columns(&self) -> bool {
        matches!(self.kind, Kind::V1_0(_))
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    V1_0(sysbench_1_0::Kind),
    V0_5(sysbench_0_5::Kind),
    V0_4(sysbench_0_4::Kind),
}

/// All scripts, newest generation last.
pub fn scripts() -> impl Iterator<Item = &'static ScriptInfo> {
    sysbench_0_4::SCRIPTS
        .iter()
        .chain(sysbench_0_5::SCRIPTS)
        .chain(sysbench_0_5::LEGACY_SCRIPTS)
        .chain(sysbench_1_0::SCRIPTS)
        .chain(sysbench_1_0::SCRIPTS_1_1)
}

/// Finds a script by name.
///
/// # Errors
/// An unknown name, with the nearest and all known ones.
pub fn find(name: &str) -> Result<&'static ScriptInfo, WorkloadError> {
    scripts().find(|info| info.name == name).ok_or_else(|| {
        let known: Vec<&'static str> = scripts().map(|info| info.name).collect();
        WorkloadError::UnknownScript {
            name: name.to_owned(),
            nearest: names::nearest(name, &known),
            known: known.join(", "),
        }
    })
}

/// A script with its options: an endless source of transactions.
///
/// One value can serve all threads of a simulation, or each thread can own a clone:
/// a thread's statements depend on its number and its generator only.
#[derive(Debug, Clone)]
pub struct Script {
    info: &'static ScriptInfo,
    options: ScriptOptions,
    ids: Distribution,
    /// Those of the threads from `first_thread` on.
    unique_ids: Vec<UniqueIds>,
    first_thread: u32,
}

impl Script {
    /// The script called `name`. `seed` picks the sequence of unique ids that inserts
    /// without auto-increment use; everything else comes from the generators passed
    /// to [`next_event`](Self::next_event).
    ///
    /// # Errors
    /// An unknown name or an option out of range.
    pub fn new(name: &str, options: &ScriptOptions, seed: u64) -> Result<Self, WorkloadError> {
        let info = find(name)?;
        options.validate()?;
        let mut options = options.clone();
        info.kind.force_options(&mut options);
        let kind = options
            .rand_type
            .unwrap_or_else(|| info.version.default_random_type());
        let ids = Distribution::new(
            info.version,
            kind,
            &options.random,
            1,
            u64::from(options.table_size),
        );
        let unique_ids = (0..options.threads)
            .map(|thread| UniqueIds::new(seed, thread, options.threads))
            .collect();
        Ok(Self {
            info,
            options,
            ids,
            unique_ids,
            first_thread: 0,
        })
    }

    /// A copy for one thread alone, which is smaller than one for all.
    ///
    /// # Panics
    /// If this is itself another thread's copy, or `thread` is not below the number of
    /// threads in the options.
    pub fn for_thread(&self, thread: u32) -> Self {
        let own = self.unique_ids[(thread - self.first_thread) as usize].clone();
        Self {
            info: self.info,
            options: self.options.clone(),
            ids: self.ids.clone(),
            unique_ids: vec![own],
            first_thread: thread,
        }
    }

    /// Replaces `out` by the statements of the next transaction of `thread` (from 0).
    /// Allocates nothing once `out` has grown to the longest transaction.
    ///
    /// # Panics
    /// If `thread` is not below the number of threads in the options, or not the thread
    /// that this copy is for.
    pub fn next_event<R: Rng + ?Sized>(
        &mut self,
        thread: u32,
        rng: &mut R,
        out: &mut Vec<Statement>,
    ) {
        out.clear();
        let mut draw = Draw {
            options: &self.options,
            ids: &self.ids,
            signed: self.info.signed_columns(),
            unique_ids: &mut self.unique_ids[(thread - self.first_thread) as usize],
            rng,
            out,
        };
        match self.info.kind {
            Kind::V1_0(kind) => kind.event(&mut draw),
            Kind::V0_5(kind) => kind.event(&mut draw),
            Kind::V0_4(kind) => kind.event(&mut draw),
        }
    }

    /// Name, version and protocol.
    pub fn info(&self) -> &'static ScriptInfo {
        self.info
    }

    /// The options in force (0.4 has one table, `oltp_point_select` one select).
    pub fn options(&self) -> &ScriptOptions {
        &self.options
    }

    /// The distribution of ids and of column k over 1..=table_size.
    pub fn ids(&self) -> &Distribution {
        &self.ids
    }
}

impl Kind {
    fn force_options(self, options: &mut ScriptOptions) {
        match self {
            Self::V1_0(sysbench_1_0::Kind::PointSelect) => options.point_selects = 1,
            Self::V0_4(_) => options.tables = 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
