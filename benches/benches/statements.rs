//! How many statements a second of host time the engine executes under the virtual
//! clock, on one core, with all data in the pool: oltp_read_write with 64 clients.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use innosim_workloads::report::IntervalLine;
use innosim_workloads::run::{RunArguments, RunPlan, Watch, execute};
use innosim_workloads::server::EngineServer;

/// Ends of the intervals, on the host's clock.
#[derive(Clone, Default)]
struct Ends(Arc<Mutex<Vec<Instant>>>);

impl Watch for Ends {
    fn loaded(&mut self, _table: &str, _rows: u64, _of: u64) {}

    fn starts(&mut self) {}

    fn interval(&mut self, _line: &IntervalLine) {
        self.0.lock().expect("one thread").push(Instant::now());
    }
}

fn plan() -> RunPlan {
    RunArguments {
        machine: Some("nvme-24core".into()),
        workload: Some("oltp_read_write".into()),
        table_size: Some("100000".into()),
        threads: Some("64".into()),
        time: Some("3".into()),
        report_interval: Some("1".into()),
        set: vec!["innodb_buffer_pool_size=512M".into()],
        ..RunArguments::default()
    }
    .plan()
    .expect("the arguments are right")
}

/// A run's statements, and those of its last two seconds by second of host time.
fn run(plan: &RunPlan) -> (u64, f64) {
    let ends = Ends::default();
    let result = execute::<EngineServer>(plan, ends.clone()).expect("the run succeeds");
    let ends = ends.0.lock().expect("one thread");
    let [first, .., last] = ends[..] else {
        panic!("a run of three seconds has three intervals");
    };
    let queries = result.document.queries;
    let share = (ends.len() - 1) as f64 / ends.len() as f64;
    let rate = queries as f64 * share / (last - first).as_secs_f64();
    (queries, rate)
}

fn statements(criterion: &mut Criterion) {
    let plan = plan();
    let (queries, rate) = run(&plan);
    eprintln!(
        "{queries} statements, {:.0} a second without the load",
        rate
    );
    let mut group = criterion.benchmark_group("oltp_read_write, 64 clients");
    group.sample_size(10);
    group.throughput(Throughput::Elements(queries));
    group.bench_function("load and three virtual seconds", |bencher| {
        bencher.iter(|| run(&plan));
    });
    group.finish();
}

criterion_group!(benches, statements);
criterion_main!(benches);
