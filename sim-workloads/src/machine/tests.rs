//! Profiles are read, and what is wrong with one is said in the user's terms.

use innosim_engine::runtime::Cost;
use innosim_engine::runtime::device::Device;
use innosim_engine::runtime::files::FileKind as EngineFileKind;
use innosim_engine::runtime::profile::SpinSettings;

use super::*;

const NVME: &str = include_str!("../../profiles/nvme-24core.toml");

fn error(text: &str) -> String {
    MachineProfile::parse("my.toml", text)
        .expect_err("the profile is wrong")
        .to_string()
}

/// The NVMe profile with one piece of its text replaced.
fn changed(from: &str, to: &str) -> String {
    assert_eq!(NVME.matches(from).count(), 1, "{from} is there once");
    NVME.replace(from, to)
}

#[test]
fn every_built_in_profile_builds_a_machine() {
    for name in built_in_names() {
        let machine = MachineProfile::load(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.name, name);
        let options = machine.simulation_options(1, SpinSettings::default());
        assert_eq!(options.disks.len(), machine.disks.len());
        innosim_engine::runtime::virtual_clock::Simulation::new(&options)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for kind in FileKind::ALL {
            assert!(usize::from(machine.device(kind).0) < options.disks.len());
        }
    }
    let cpus = |name| MachineProfile::load(name).unwrap().cpu.logical_cpus();
    assert_eq!(cpus("nvme-24core"), 24);
    assert_eq!(cpus("nvme-48core"), 48);
    assert_eq!(cpus("quad-144-ramdisk"), 144);
    assert_eq!(cpus("laptop-nvme"), 16);
}

#[test]
fn every_number_of_a_profile_names_its_source() {
    let sources = [
        "published",
        "literature",
        "measured",
        "fitted",
        "chosen",
        "estimate",
    ];
    for (name, text) in BUILT_IN {
        let mut comment_above = String::new();
        for line in text.lines() {
            let (code, comment) = line.split_once('#').unwrap_or((line, ""));
            if code.trim().is_empty() {
                comment_above = format!("{comment_above} {comment}");
                continue;
            }
            let is_number = code
                .split_once('=')
                .is_some_and(|(_, value)| value.contains(|c: char| c.is_ascii_digit()))
                && !code.starts_with("description");
            if is_number {
                let explained = !comment.trim().is_empty() || !comment_above.trim().is_empty();
                assert!(explained, "{name}: no source for {line}");
                let all = format!("{comment_above} {comment}");
                let has_source = sources.iter().any(|source| all.contains(source));
                // "no limit", "there is one socket": the number says that a thing is absent.
                let is_absence = comment.contains(" no ") || comment.contains("there is one");
                let on_ram_disk = name == "quad-144-ramdisk";
                assert!(has_source || is_absence || on_ram_disk, "{name}: {line}");
            }
            comment_above.clear();
        }
    }
}

#[test]
fn the_two_readings_of_the_doublewrite_machine_differ_in_sockets_only() {
    let one = MachineProfile::load("nvme-24core").unwrap();
    let two = MachineProfile::load("nvme-48core").unwrap();
    assert_eq!(one.disks, two.disks);
    assert_eq!(one.server, two.server);
    let cpu = CpuProfile {
        sockets: 1,
        turbo: one.cpu.turbo.clone(),
        ..two.cpu
    };
    assert_eq!(one.cpu, cpu);
}

#[test]
fn wrong_values_are_named_with_file_key_value_and_range_all_at_once() {
    let text = changed("dies = 32 ", "dies = 0 ")
        .replace("io_call_us = 3.0", "io_call_us = -1.0")
        .replace("memory_gib = 128.0", "memory_gib = 0.0")
        .replace("statement_cv = 0.5", "statement_cv = nan");
    assert_eq!(
        error(&text),
        "my.toml: memory_gib = 0: 0.25 to 65536\n\
         my.toml: server.statement_cv = NaN: 0 to 5\n\
         my.toml: cpu.io_call_us = -1: 0 to 1000\n\
         my.toml: disks.nvme.dies = 0: 1 to 1024"
            .replace(": 0.25", ": accepted is 0.25")
            .replace(": 0 to", ": accepted is 0 to")
            .replace(": 1 to", ": accepted is 1 to")
    );
}

#[test]
fn unknown_keys_and_wrong_types_are_refused_by_name() {
    let message = error(&changed("sockets = 1 ", "sokets = 1 "));
    assert!(message.starts_with("my.toml: "), "{message}");
    assert!(message.contains("unknown field `sokets`"), "{message}");
    assert!(message.contains("`cores_per_socket`"), "{message}");

    let message = error(&changed("dies = 32 ", "dyes = 32 "));
    assert!(
        message.contains("disks.nvme: unknown field `dyes`"),
        "{message}"
    );

    let message = error(&changed("dies = 32 ", "dies = \"many\" "));
    assert_eq!(
        message,
        "my.toml: disks.nvme: invalid type: string \"many\", expected u32 in `dies`"
    );
    let message = error(&changed("\"solid_state\"", "\"floppy\""));
    assert_eq!(
        message,
        "my.toml: disks.nvme: model = \"floppy\": accepted is \"solid_state\" or \"rotating_array\""
    );
}

#[test]
fn files_are_placed_by_kind() {
    let text = format!("{NVME}\n[placement]\nredo = \"nvme\"\n");
    let machine = MachineProfile::parse("x", &text).unwrap();
    assert_eq!(machine.placement.len(), FileKind::ALL.len());

    let disk = machine.disks["nvme"].clone();
    let two = machine.with_disk_for(FileKind::Redo, "a-second", disk);
    // Disks are numbered in the order of their names.
    assert_eq!(two.device(FileKind::Redo), Device(0));
    assert_eq!(two.device(FileKind::Tables), Device(1));

    let message = error(&format!(
        "{NVME}\n[placement]\nredo = \"tape\"\nblobs = \"nvme\"\n"
    ));
    assert_eq!(
        message,
        "my.toml: placement.blobs = nvme: accepted is the keys default, tables, system, undo, \
         redo, doublewrite, temporary\n\
         my.toml: placement.redo = tape: accepted is one of the disks nvme"
    );
}

#[test]
fn with_two_disks_there_is_no_default() {
    let second = NVME[NVME.find("[disks.nvme]").unwrap()..].replace("disks.nvme", "disks.other");
    let message = error(&format!("{NVME}\n{second}"));
    assert!(
        message.contains(
            "placement.default = nothing: accepted is a disk for tables: one of nvme, other"
        ),
        "{message}"
    );
    let text = format!("{NVME}\n{second}\n[placement]\ndefault = \"other\"\nredo = \"nvme\"\n");
    let machine = MachineProfile::parse("x", &text).unwrap();
    assert_eq!(machine.placement[&FileKind::Tables], "other");
    assert_eq!(machine.placement[&FileKind::Redo], "nvme");
}

#[test]
fn a_profile_is_found_by_path_and_a_wrong_name_lists_the_right_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    std::fs::write(&path, NVME).unwrap();
    let machine = MachineProfile::load(path.to_str().unwrap()).unwrap();
    assert_eq!(machine.name, path.to_str().unwrap());
    assert_eq!(machine.cpu.logical_cpus(), 24);

    let message = MachineProfile::load("nvme-23core").unwrap_err().to_string();
    assert!(
        message.starts_with("machine = nvme-23core: no such profile"),
        "{message}"
    );
    assert!(message.contains("nvme-24core, nvme-48core"), "{message}");

    // A directory exists and cannot be read as a file.
    let message = MachineProfile::load(directory.path().to_str().unwrap()).unwrap_err();
    assert!(matches!(message, MachineProfileError::Unreadable { .. }));
}

#[test]
fn the_engine_files_lie_where_the_profile_says() {
    let disk = MachineProfile::load("nvme-24core").unwrap().disks["nvme"].clone();
    let machine = MachineProfile::load("nvme-24core").unwrap();
    let two = machine.with_disk_for(FileKind::Redo, "a-second", disk.clone());
    let placement = two.simulation_options(1, SpinSettings::default()).placement;
    assert_eq!(placement.device(EngineFileKind::Log), 0);
    assert_eq!(placement.device(EngineFileKind::Data), 1);
    assert_eq!(placement.device(EngineFileKind::Doublewrite), 1);
    assert!(two.placement_warnings().is_empty());

    let undo = machine.with_disk_for(FileKind::Undo, "a-second", disk);
    assert_eq!(
        undo.placement_warnings(),
        [
            "nvme-24core: placement.undo = a-second has no effect: system and undo tablespaces \
             lie with the tables, on nvme"
        ]
    );
}

#[test]
fn a_profile_replaces_costs_by_name() {
    let text = format!("{NVME}\n[costs]\nlru_move = 12.5\n");
    let machine = MachineProfile::parse("x", &text).unwrap();
    let costs = machine.simulation_options(1, SpinSettings::default()).costs;
    assert_eq!(costs.get(Cost::LruMove), 12_500);

    let message = error(&format!(
        "{NVME}\n[costs]\nlru_mvoe = 1.0\nlru_move = -1.0\n"
    ));
    assert_eq!(
        message,
        "my.toml: costs.lru_move = -1: accepted is nanoseconds, 0 to 1000000\n\
         my.toml: costs.lru_mvoe = 1: accepted is a cost of this engine; `explain` lists them"
    );
}
