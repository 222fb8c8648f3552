//! The server around the engine: CPU that a statement costs in network, parser and
//! optimizer, and in the client where it shares the machine.
//!
//! ```text
//!   |-- half of the draw --|== engine: latches, pages, waits ==|-- the other half --|
//!     packet in, parse                                            result out, client
//!                                                                 others may run
//! ```
//!
//! Where the client is on another host the time between a reply and the next statement is no
//! CPU of this machine: the connection's thread sleeps.
//!
//! One lognormal draw a statement. A constant would make convoys: equal clients meet at
//! the same latch in the same order for ever, and below saturation nobody would ever
//! wait, which no real server shows.

use innosim_engine::runtime::random::{QuantileTable, Stream};
use innosim_engine::runtime::time::{MICROSECOND, Time};
use innosim_engine::runtime::{self, WaitKind, charge, give_way, sleep};

use crate::machine::ServerProfile;
use crate::workload::Statement;
use crate::workload::version::Protocol;

/// Kinds of statement that cost differently: BEGIN, point selects, ranges, writes, COMMIT.
pub const KINDS: usize = 5;

/// The costs of a machine's server layer, ready for use.
#[derive(Debug, Clone)]
pub struct ServerLayer {
    spread: QuantileTable,
    means: [f64; KINDS],
    /// Sleep before each statement; a timer's slack comes on top of it.
    network: Option<Time>,
}

/// Which kind a statement is, from 0.
pub fn kind(statement: &Statement) -> usize {
    match statement {
        Statement::Begin => 0,
        Statement::PointSelect { .. } => 1,
        Statement::SimpleRange { .. }
        | Statement::SumRange { .. }
        | Statement::OrderRange { .. }
        | Statement::DistinctRange { .. } => 2,
        Statement::UpdateIndex { .. }
        | Statement::UpdateNonIndex { .. }
        | Statement::Delete { .. }
        | Statement::Insert { .. } => 3,
        Statement::Commit => 4,
    }
}

impl ServerLayer {
    /// The server layer of a machine whose clients send statements in this way, and on which
    /// a timed sleep takes so much longer than was asked for.
    pub fn new(profile: &ServerProfile, protocol: Protocol, timer_slack_us: f64) -> Self {
        let weights = &profile.weights;
        let factor = match protocol {
            Protocol::Prepared => 1.0,
            Protocol::Text => weights.text_protocol,
        };
        let unit = profile.statement_us * factor * MICROSECOND as f64;
        let weights = [
            weights.begin,
            weights.point_select,
            weights.range,
            weights.write,
            weights.commit,
        ];
        ServerLayer {
            spread: QuantileTable::lognormal(profile.statement_cv),
            means: weights.map(|weight| weight * unit),
            network: (profile.network_us > 0.0).then(|| {
                let asked_us = (profile.network_us - timer_slack_us).max(0.0);
                (asked_us * MICROSECOND as f64) as Time
            }),
        }
    }

    /// Waits for the next statement to come from a client on another host.
    pub fn wait_for_network(&self) {
        if let Some(time) = self.network.filter(|_| runtime::is_virtual()) {
            sleep(time, WaitKind::Other);
        }
    }

    /// Draws what a statement costs outside the engine. Nothing is drawn under the real
    /// clock, where there is no server around the engine.
    pub fn draw(&self, statement: &Statement, stream: &mut Stream) -> Outside {
        if !runtime::is_virtual() {
            return Outside(0);
        }
        Outside((self.means[kind(statement)] * stream.draw(&self.spread)) as Time)
    }
}

/// The CPU that one statement costs outside the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "half of it is charged before the engine's work, half after it"]
pub struct Outside(Time);

impl Outside {
    /// Charges the half before the engine's work.
    pub fn before(self) {
        charge(self.0 / 2);
    }

    /// Charges the half after it. Then the thread waits for its client's next statement:
    /// with more clients than CPUs somebody else runs meanwhile.
    pub fn after(self) {
        charge(self.0 - self.0 / 2);
        give_way();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::StatementWeights;
    use innosim_engine::runtime::profile::CpuProfile;
    use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
    use innosim_engine::runtime::{now, settle, stream};

    const PROFILE: ServerProfile = ServerProfile {
        statement_us: 100.0,
        statement_cv: 0.5,
        network_us: 0.0,
        weights: StatementWeights {
            begin: 0.5,
            point_select: 1.0,
            range: 2.0,
            write: 3.0,
            commit: 1.0,
            text_protocol: 1.25,
        },
    };

    /// Mean and standard deviation of a statement's charge on one idle CPU, in µs.
    fn charged(protocol: Protocol, statement: Statement) -> (f64, f64) {
        let options = SimulationOptions::new(CpuProfile::uniform(1), 7);
        let mut simulation = Simulation::new(&options).unwrap();
        let layer = ServerLayer::new(&PROFILE, protocol, 0.0);
        let times = simulation
            .run(move || {
                let mut stream = stream("server 0");
                let one = |_| {
                    let begin = now();
                    let outside = layer.draw(&statement, &mut stream);
                    outside.before();
                    outside.after();
                    settle();
                    (now() - begin) as f64 / MICROSECOND as f64
                };
                (0..20_000).map(one).collect::<Vec<f64>>()
            })
            .unwrap();
        let mean = crate::stats::mean(&times).unwrap();
        (
            mean,
            crate::stats::sample_standard_deviation(&times).unwrap(),
        )
    }

    #[test]
    fn a_kind_has_its_mean_and_the_profile_its_spread() {
        // Standard error of the mean: 0.5 / sqrt(20000) = 0.35 %.
        let select = Statement::PointSelect { table: 1, id: 1 };
        let (mean, deviation) = charged(Protocol::Prepared, select);
        assert!((mean / 100.0 - 1.0).abs() < 0.014, "{mean}");
        assert!((deviation / mean - 0.5).abs() < 0.03, "{deviation}");
        let (mean, _) = charged(Protocol::Prepared, Statement::Begin);
        assert!((mean / 50.0 - 1.0).abs() < 0.014, "{mean}");
        let (mean, _) = charged(Protocol::Text, Statement::Delete { table: 1, id: 1 });
        assert!((mean / 375.0 - 1.0).abs() < 0.014, "{mean}");
    }

    /// How long a statement is waited for, in µs, if the network takes so long.
    fn waited_us(network_us: f64) -> u64 {
        let profile = ServerProfile {
            network_us,
            ..PROFILE
        };
        let cpu = CpuProfile {
            timer_slack_us: 50.0,
            ..CpuProfile::uniform(1)
        };
        let mut simulation = Simulation::new(&SimulationOptions::new(cpu, 7)).unwrap();
        let layer = ServerLayer::new(&profile, Protocol::Text, 50.0);
        let waited = simulation.run(move || {
            let begin = now();
            layer.wait_for_network();
            (now() - begin) / MICROSECOND
        });
        waited.unwrap()
    }

    #[test]
    fn a_client_on_another_host_takes_no_cpu() {
        assert_eq!(waited_us(0.0), 0);
        assert_eq!(waited_us(80.0), 80);
        assert_eq!(waited_us(50.0), 50);
        assert_eq!(waited_us(10.0), 50, "a timer's slack");
    }

    #[test]
    fn the_real_clock_has_no_server_layer() {
        let layer = ServerLayer::new(&PROFILE, Protocol::Text, 0.0);
        let mut stream = Stream::new(1, "server 0");
        assert_eq!(layer.draw(&Statement::Commit, &mut stream), Outside(0));
    }
}
