//! The `innosim` command.
use innosim_workloads::kernel::read_views::*;
fn main() {
    let text = include_str!("../profiles/quad-144-ramdisk.toml");
    #[derive(serde::Deserialize)]
    struct P {
        cpu: innosim_engine::runtime::profile::CpuProfile,
    }
    let p: P = toml::from_str(text).unwrap();
    let published = include_str!("../../data/seeds/isolation-levels.csv");
    let only: Vec<String> = std::env::args().skip(1).collect();
    for line in published.lines().skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        let version = if f[1].starts_with("5.6") {
            Version::V56
        } else {
            Version::V57
        };
        let isolation = if f[2].starts_with("REP") {
            Isolation::RepeatableRead
        } else {
            Isolation::ReadCommitted
        };
        let threads: u32 = f[3].parse().unwrap();
        let publ: f64 = f[4].parse().unwrap();
        let key = format!(
            "{}-{}-{}",
            &f[1][..3],
            if f[2].starts_with("REP") { "RR" } else { "RC" },
            threads
        );
        if !only.is_empty() && !only.iter().any(|o| key.starts_with(o.as_str())) {
            continue;
        }
        let t = std::time::Instant::now();
        let r = run_cell(
            &p.cpu,
            &Cell {
                version,
                isolation,
                threads,
            },
            Length::default(),
            Default::default(),
            1,
        )
        .unwrap();
        let l = r
            .statistics
            .latch(innosim_engine::runtime::LatchClass::TrxSys);
        let k = r
            .statistics
            .latch(innosim_engine::runtime::LatchClass::LockSys);
        println!(
            "{key:14} published {publ:7.0} simulated {:7.0} error {:+6.1} %  us/trx {:7.1} pub {:7.1}  hold {:.2}us cont {:.2} slept {:.2} lock_sys hold {:.2} cont {:.2} host {:.1}s sw {}M pre {}",
            r.tps,
            (r.tps / publ - 1.0) * 100.0,
            1e6 / r.tps,
            1e6 / publ,
            l.hold as f64 / 1e6 / l.acquired as f64,
            l.contended as f64 / l.acquired as f64,
            l.slept as f64 / l.acquired as f64,
            k.hold as f64 / 1e6 / k.acquired.max(1) as f64,
            k.contended as f64 / k.acquired.max(1) as f64,
            t.elapsed().as_secs_f64(),
            r.statistics.switches / 1000000,
            r.statistics.preemptions
        );
    }
}
