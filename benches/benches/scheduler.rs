//! How many task switches a second the virtual clock makes on one core.

use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use innosim_benches::switch_storm;
use innosim_engine::runtime::time::MILLISECOND;

fn scheduler(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scheduler switches");
    group.sample_size(10);
    for tasks in [64, 1024] {
        let length = 50 * MILLISECOND;
        let start = Instant::now();
        let switches = switch_storm(tasks, length);
        let rate = switches as f64 / start.elapsed().as_secs_f64() / 1e6;
        eprintln!("{tasks} tasks: {switches} switches, {rate:.1} million a second");
        group.throughput(Throughput::Elements(switches));
        group.bench_function(format!("{tasks} tasks"), |bencher| {
            bencher.iter(|| switch_storm(tasks, length));
        });
    }
    group.finish();
}

criterion_group!(benches, scheduler);
criterion_main!(benches);
