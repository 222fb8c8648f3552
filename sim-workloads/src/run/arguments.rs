//! The options that every command with a run in it shares, as they were typed.
//!
//! They stay text here: [`RunArguments::plan`] reads all of them, the option file and the
//! machine together, so that one call shows everything that is wrong with it.
//! `sweep` changes them by name ([`RunArguments::vary`]) and hands them on to a process
//! of its own ([`RunArguments::command_line`]).

use std::ffi::OsString;
use std::path::PathBuf;

use innosim_engine::sysvar::{Excerpt, nearest, registry};

/// Options of a run.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub struct RunArguments {
    /// An option file of a server (my.cnf), read by MySQL's rules.
    #[arg(long, value_name = "F")]
    pub defaults_file: Option<PathBuf>,
    /// Set a system variable; counts more than the option file. May be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// The server whose defaults and algorithms hold: mysql-5.1 to mysql-8.4,
    /// mariadb-10.11 [default: mysql-8.4]
    #[arg(long, value_name = "V")]
    pub flavor: Option<String>,
    /// What the clients do: a script of sysbench 1.0 such as oltp_read_only, or one with
    /// a prefix (legacy-1.0/, sysbench-0.5/, sysbench-0.4/) [default: oltp_read_write]
    #[arg(long, value_name = "W")]
    pub workload: Option<String>,
    /// Tables [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub tables: Option<String>,
    /// Rows in each table, before they are divided by the scale [default: 10000]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub table_size: Option<String>,
    /// Client threads [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<String>,
    /// Seconds to measure; 0 for no limit, which needs --events [default: 10, or 0 with
    /// --events]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub time: Option<String>,
    /// Transactions to measure; 0 for no limit. With one thread, flushing, purge and
    /// checkpoints then happen after every 100 transactions, not by the clock
    /// [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub events: Option<String>,
    /// Seconds to run before the measurement begins [default: 0]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub warmup_time: Option<String>,
    /// Which rows are hot: uniform, gaussian, special, pareto or zipfian [default: that of
    /// the workload's sysbench]
    #[arg(long, value_name = "T")]
    pub rand_type: Option<String>,
    /// Seconds between intermediate lines; 0 for none [default: 0]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub report_interval: Option<String>,
    /// virtual: a modelled machine, the same result for the same seed; real: this one
    /// [default: virtual]
    #[arg(long, value_name = "virtual|real")]
    pub clock: Option<String>,
    /// A machine profile by name, or a TOML file. Under the real clock only its CPUs and
    /// memory count, for derived defaults [default: laptop-nvme, or host under the real
    /// clock]
    #[arg(long, value_name = "NAME|F.toml")]
    pub machine: Option<String>,
    /// Divide rows, buffer pool and redo capacity by this [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub scale: Option<String>,
    /// The seed of everything random [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<String>,
    /// When CPU time is accounted for: lazy, before anybody could notice; or always, at
    /// every latch [default: lazy]
    #[arg(long, value_name = "lazy|always")]
    pub settle: Option<String>,
    /// A data directory to begin from and to leave the files in; tables that it does not
    /// have are loaded first. Without it the files go when the run is over
    #[arg(long, value_name = "D")]
    pub datadir: Option<PathBuf>,
    /// A prepared data directory to begin from that stays as it is, under the virtual
    /// clock; many runs can have one at a time
    #[arg(long, value_name = "D", conflicts_with = "datadir")]
    pub base: Option<PathBuf>,
}

/// A name that is neither an option that can vary nor a system variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "--vary {}: accepted are {}, and every system variable{}",
    Excerpt(.name),
    RunArguments::VARYING.join(", "),
    .nearest.map_or(String::new(), |name| format!(" (did you mean {name}?)"))
)]
pub struct UnknownName {
    /// As given.
    pub name: String,
    /// The nearest known name.
    pub nearest: Option<&'static str>,
}

/// A run option that can vary, as `name` of `--vary name=…`.
type OptionField = fn(&mut RunArguments) -> &mut Option<String>;

const FIELDS: [(&str, OptionField); 12] = [
    ("threads", |arguments| &mut arguments.threads),
    ("workload", |arguments| &mut arguments.workload),
    ("seed", |arguments| &mut arguments.seed),
    ("flavor", |arguments| &mut arguments.flavor),
    ("machine", |arguments| &mut arguments.machine),
    ("tables", |arguments| &mut arguments.tables),
    ("table_size", |arguments| &mut arguments.table_size),
    ("rand_type", |arguments| &mut arguments.rand_type),
    ("time", |arguments| &mut arguments.time),
    ("events", |arguments| &mut arguments.events),
    ("warmup_time", |arguments| &mut arguments.warmup_time),
    ("scale", |arguments| &mut arguments.scale),
];

impl RunArguments {
    /// The names besides system variables that a sweep can vary.
    pub const VARYING: [&'static str; 12] = {
        let mut names = [""; 12];
        let mut index = 0;
        while index < names.len() {
            names[index] = FIELDS[index].0;
            index += 1;
        }
        names
    };

    /// The name under which `name` appears in results: with underscores, and a system
    /// variable by its own name rather than an alias.
    ///
    /// # Errors
    /// If nothing of that name can vary.
    pub fn varying_name(name: &str) -> Result<&'static str, UnknownName> {
        let written = name.trim().replace('-', "_");
        if let Some(known) = Self::VARYING.into_iter().find(|known| *known == written) {
            return Ok(known);
        }
        match registry::find(&written) {
            Some((definition, _)) => Ok(definition.name),
            None => {
                let names = registry::names().chain(Self::VARYING);
                Err(UnknownName {
                    nearest: nearest(&written, names),
                    name: name.to_owned(),
                })
            }
        }
    }

    /// Sets a run option, or a system variable, by a name from
    /// [`varying_name`](Self::varying_name).
    pub fn vary(&mut self, name: &str, value: &str) {
        match FIELDS.iter().find(|(known, _)| *known == name) {
            Some((_, field)) => *field(self) = Some(value.to_owned()),
            None => self.set.push(format!("{name}={value}")),
        }
    }

    /// The same options as arguments of a call.
    pub fn command_line(&self) -> Vec<OsString> {
        let mut call = Vec::new();
        let mut option = |name: &str, value: OsString| {
            let mut argument = OsString::from(format!("--{name}="));
            argument.push(value);
            call.push(argument);
        };
        let texts = [
            ("flavor", &self.flavor),
            ("workload", &self.workload),
            ("tables", &self.tables),
            ("table-size", &self.table_size),
            ("threads", &self.threads),
            ("time", &self.time),
            ("events", &self.events),
            ("warmup-time", &self.warmup_time),
            ("rand-type", &self.rand_type),
            ("report-interval", &self.report_interval),
            ("clock", &self.clock),
            ("machine", &self.machine),
            ("scale", &self.scale),
            ("seed", &self.seed),
            ("settle", &self.settle),
        ];
        if let Some(file) = &self.defaults_file {
            option("defaults-file", file.into());
        }
        for assignment in &self.set {
            option("set", assignment.into());
        }
        for (name, value) in texts {
            if let Some(value) = value {
                option(name, value.into());
            }
        }
        for (name, directory) in [("datadir", &self.datadir), ("base", &self.base)] {
            if let Some(directory) = directory {
                option(name, directory.into());
            }
        }
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Call {
        #[command(flatten)]
        run: RunArguments,
    }

    fn parse(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> RunArguments {
        let name = OsString::from("run");
        let arguments = arguments.into_iter().map(Into::into);
        Call::try_parse_from(std::iter::once(name).chain(arguments))
            .unwrap()
            .run
    }

    #[test]
    fn a_command_line_says_the_same_again() {
        let call = parse([
            "--defaults-file=my.cnf",
            "--set=a=b=c",
            "--set",
            "x-y=-1",
            "--flavor=mysql-5.6",
            "--workload=oltp_insert",
            "--tables=2",
            "--table-size=5",
            "--threads=3",
            "--time=1.5",
            "--events=10",
            "--warmup-time=2",
            "--rand-type=uniform",
            "--report-interval=1",
            "--clock=real",
            "--machine=host",
            "--scale=4",
            "--seed=-7",
            "--settle=always",
            "--datadir=some where",
        ]);
        let again = call.command_line();
        assert_eq!(again.len(), 19);
        assert_eq!(parse(again), call);
        let call = parse(["--base=some where"]);
        assert_eq!(parse(call.command_line()), call);
        assert!(RunArguments::default().command_line().is_empty());
    }

    #[test]
    fn what_varies_is_an_option_or_a_variable() {
        let mut call = RunArguments::default();
        for (name, value) in [
            ("table-size", "7"),
            ("innodb-io-capacity", "100"),
            ("tx_isolation", "READ-COMMITTED"),
        ] {
            call.vary(RunArguments::varying_name(name).unwrap(), value);
        }
        assert_eq!(call.table_size.as_deref(), Some("7"));
        assert_eq!(
            call.set,
            [
                "innodb_io_capacity=100",
                "transaction_isolation=READ-COMMITTED"
            ]
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let message = RunArguments::varying_name("innodb_io_capactiy").unwrap_err();
        assert_eq!(
            message.to_string(),
            "--vary innodb_io_capactiy: accepted are threads, workload, seed, flavor, machine, \
             tables, table_size, rand_type, time, events, warmup_time, scale, and every system \
             variable (did you mean innodb_io_capacity?)"
        );
        let message = RunArguments::varying_name("treads").unwrap_err();
        assert_eq!(message.nearest, Some("threads"));
    }
}
