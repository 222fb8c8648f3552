//! Random programs against a vector of bytes, with crashes and remounting.

use innosim_engine::runtime::WaitKind::Other;
use innosim_engine::runtime::files::{Crash, Create, FileSystem, IoMode, OpenOptions};
use innosim_engine::runtime::sleep;
use innosim_engine::runtime::time::SECOND;
use innosim_engine::runtime::virtual_clock::disk::CacheProtection::{Protected, Volatile};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use proptest::prelude::*;

use crate::{options_with, solid_state};

const NAME: &str = "data/f";

#[derive(Clone, Debug)]
enum Step {
    /// Offset and length in sectors, and the byte to fill with.
    Write(u64, u64, u8),
    /// From the `n`th image on, at a page.
    Images(u64, usize),
    SetLength(u64),
    Extend(u64),
    Sync,
    Read(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..200, 1u64..80, any::<u8>()).prop_map(|(o, l, b)| Step::Write(o, l, b)),
        3 => (0u64..6, 1usize..4).prop_map(|(o, n)| Step::Images(o, n)),
        1 => (0u64..200).prop_map(Step::SetLength),
        1 => (0u64..200).prop_map(Step::Extend),
        2 => Just(Step::Sync),
        3 => (0u64..200, 1u64..80).prop_map(|(o, l)| Step::Read(o, l)),
    ]
}

#[derive(Clone, Copy, Debug)]
enum End {
    Exit,
    Kill,
    PowerLoss,
    /// Written out and mounted by another machine.
    Move,
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Exit),
        Just(End::Kill),
        Just(End::PowerLoss),
        Just(End::Move)
    ]
}

/// What a sector may be after a power failure: what was durable, and what was written since.
struct Model {
    now: Vec<u8>,
    /// For each sector, the contents since the last sync that covered it.
    possible: Vec<Vec<[u8; 512]>>,
}

impl Model {
    fn resize(&mut self, length: usize) {
        self.now.resize(length, 0);
        // A length is durable at once, and what is cut off is gone.
        self.possible.resize(length / 512, vec![[0; 512]]);
    }

    fn write(&mut self, offset: usize, bytes: &[u8], io: IoMode) {
        if offset + bytes.len() > self.now.len() {
            self.resize(offset + bytes.len());
        }
        self.now[offset..offset + bytes.len()].copy_from_slice(bytes);
        for sector in offset / 512..(offset + bytes.len()) / 512 {
            let content = self.now[sector * 512..][..512].try_into().unwrap();
            self.possible[sector].push(content);
        }
        if io == IoMode::BufferedSync {
            self.sync_range(offset, bytes.len());
        }
    }

    fn sync(&mut self) {
        self.sync_range(0, self.now.len());
    }

    fn sync_range(&mut self, offset: usize, length: usize) {
        let sectors = offset / 512..(offset + length) / 512;
        for sector in sectors {
            self.possible[sector] = vec![self.now[sector * 512..][..512].try_into().unwrap()];
        }
    }
}

/// Runs the steps in a simulation and returns the model's prediction.
fn run(
    simulation: &mut Simulation,
    mut model: Model,
    io: IoMode,
    steps: Vec<Step>,
    end: End,
) -> Model {
    let body = move || {
        let files = FileSystem::new();
        let options = OpenOptions {
            create: Create::Existing,
            io,
            kind: innosim_engine::runtime::files::FileKind::Data,
        };
        let file = files.open(NAME, options).unwrap();
        for step in steps {
            match step {
                Step::Write(offset, length, byte) => {
                    let bytes = vec![byte; length as usize * 512];
                    file.write_at(&bytes, offset * 512, Other).unwrap();
                    model.write(offset as usize * 512, &bytes, io);
                }
                Step::Images(first, count) => {
                    let images: Vec<_> = (0..count)
                        .map(|n| crate::page(&files, n as u64, first as u8))
                        .collect();
                    let offset = first * crate::PAGE;
                    file.write_images(&images, offset, Other).unwrap();
                    for (n, image) in images.iter().enumerate() {
                        model.write(offset as usize + n * image.len(), &image[..], io);
                    }
                }
                Step::SetLength(sectors) => {
                    file.set_length(sectors * 512).unwrap();
                    model.resize(sectors as usize * 512);
                }
                Step::Extend(sectors) => {
                    file.extend(sectors * 512, Other).unwrap();
                    if sectors as usize * 512 > model.now.len() {
                        model.resize(sectors as usize * 512);
                    }
                }
                Step::Sync => {
                    file.sync(true, Other).unwrap();
                    model.sync();
                }
                Step::Read(offset, length) => {
                    let mut bytes = vec![0; length as usize * 512];
                    let at = offset as usize * 512;
                    let read = file.read_at(&mut bytes, offset * 512, Other);
                    match model.now.get(at..at + bytes.len()) {
                        Some(expected) => {
                            read.unwrap();
                            assert!(bytes == expected, "at {at}");
                        }
                        None => assert!(read.is_err()),
                    }
                }
            }
        }
        model
    };
    let result = std::rc::Rc::new(std::cell::Cell::new(None));
    let slot = result.clone();
    let until = simulation.now() + 1000 * SECOND;
    let cut = matches!(end, End::Kill | End::PowerLoss);
    let outcome = simulation.run_until(until, move || {
        slot.set(Some(body()));
        if cut {
            sleep(10_000 * SECOND, Other);
        }
    });
    assert!(outcome.is_ok());
    result.take().expect("the steps have run")
}

/// What was predicted against what is there; after a power failure what is there is the
/// model from then on.
fn compare(simulation: &mut Simulation, model: &mut Model, end: End) {
    let found = simulation.files().contents(NAME).unwrap();
    assert_eq!(found.len(), model.now.len());
    if let End::PowerLoss = end {
        for (sector, possible) in model.possible.iter().enumerate() {
            let bytes = &found[sector * 512..][..512];
            assert!(possible.iter().any(|p| p == bytes), "sector {sector}");
        }
        model.now = found;
        model.sync();
    } else {
        assert!(found == model.now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn random_programs_do_what_a_vector_does(
        rounds in prop::collection::vec((prop::collection::vec(step(), 1..25), 0..3usize, end()), 1..5),
        volatile in any::<bool>(),
        budget in prop::option::of(0u64..6),
        atomic in prop::sample::select(vec![512, 4096, 65_536]),
        seed in any::<u64>(),
    ) {
        let cache = if volatile { Volatile } else { Protected };
        let options = SimulationOptions {
            memory_budget: budget.map(|pages| pages * crate::PAGE),
            ..options_with(&[solid_state(cache, atomic)], seed)
        };
        let host = tempfile::tempdir_in(".").unwrap();
        std::fs::write(host.path().join("f"), [5; 30_208]).unwrap();
        let mut model = Model { now: vec![5; 30_208], possible: Vec::new() };
        model.possible = vec![vec![[5; 512]]; 59];
        let mut simulation = Simulation::new(&options).unwrap();
        simulation.files_mut().mount(host.path(), "data").unwrap();
        for (steps, io, end) in rounds {
            let io = [IoMode::Direct, IoMode::Buffered, IoMode::BufferedSync][io];
            model = run(&mut simulation, model, io, steps, end);
            match end {
                End::Exit => {}
                End::Kill => drop(simulation.resolve_crash(Crash::ProcessKill).unwrap()),
                End::PowerLoss => drop(simulation.resolve_crash(Crash::PowerLoss).unwrap()),
                End::Move => {
                    simulation.files_mut().write_out("data", host.path()).unwrap();
                    simulation = Simulation::new(&options).unwrap();
                    simulation.files_mut().mount(host.path(), "data").unwrap();
                    model.sync();
                }
            }
            compare(&mut simulation, &mut model, end);
        }
    }
}
