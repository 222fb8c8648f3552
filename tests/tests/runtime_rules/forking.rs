//! A simulation is forked: both go on from the same instant, the child's words arrive, and
//! however it ends its parent learns of it.

use std::fmt;
use std::sync::mpsc;

use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::fork::{Child, ChildEnd, Forked, Outbox, fork, wait_for_any};
use innosim_engine::runtime::time::MILLISECOND;
use innosim_engine::runtime::{Event, RealMachine, WaitKind, now, reseed, sleep, spawn, stream};
use innosim_tests::child;

use super::on_cores;

/// Forks off what `body` does.
fn forked(body: impl FnOnce(Outbox)) -> Child {
    match fork().unwrap() {
        Forked::Parent(child) => child,
        Forked::Child(outbox) => {
            body(outbox);
            unreachable!("a child ends by its outbox");
        }
    }
}

fn message_of(child: &mut Child) -> Vec<u8> {
    let mut message = Vec::new();
    let mut buffer = [0; 1000];
    loop {
        match child.read(&mut buffer).unwrap() {
            0 => return message,
            count => message.extend_from_slice(&buffer[..count]),
        }
    }
}

#[test]
fn tasks_go_on_in_parent_and_child_from_the_same_instant() {
    on_cores(2, || {
        // A task that waits on its stack for something, with a secret.
        let event = std::sync::Arc::new(Event::new());
        let count = event.reset();
        let waited = event.clone();
        let task = spawn("waits", move || {
            let secret = 17;
            waited.wait(count, u64::MAX, WaitKind::Other);
            secret + now() / MILLISECOND
        });
        sleep(5 * MILLISECOND, WaitKind::Other);
        let begin = now();
        let mut child = match fork().unwrap() {
            Forked::Parent(child) => child,
            Forked::Child(outbox) => {
                // The wait, and all else, is a copy.
                sleep(100 * MILLISECOND, WaitKind::Other);
                event.set();
                outbox.send(&task.join().to_le_bytes());
            }
        };
        let sent = message_of(&mut child);
        assert_eq!(u64::from_le_bytes(sent.try_into().unwrap()), 17 + 105);
        assert_eq!(child.reap().unwrap(), ChildEnd::Done);
        assert_eq!(now(), begin, "the parent stood still");
        event.set();
        assert_eq!(task.join(), 17 + 5);
    });
}

#[test]
fn words_arrive_whole_whatever_their_length_and_from_several_at_once() {
    on_cores(1, || {
        let lengths = [0, 1, 3_000_000, 64 << 10];
        let mut children: Vec<_> = lengths
            .into_iter()
            .map(|length| forked(|outbox| outbox.send(&vec![7; length])))
            .collect();
        let mut received = [0; 4];
        let mut places: Vec<_> = (0..4).collect();
        let mut buffer = vec![0; 10_000];
        while !children.is_empty() {
            let ready = wait_for_any(children.iter()).unwrap();
            match children[ready].read(&mut buffer).unwrap() {
                0 => {
                    places.remove(ready);
                    assert_eq!(children.remove(ready).reap().unwrap(), ChildEnd::Done);
                }
                count => {
                    assert!(buffer[..count].iter().all(|byte| *byte == 7));
                    received[places[ready]] += count;
                }
            }
        }
        assert_eq!(received, lengths);
    });
}

#[test]
fn a_child_that_dies_is_told_from_one_that_is_done() {
    on_cores(1, || {
        let killed = forked(|_| {
            // SAFETY: ends the process by a signal, at once.
            unsafe { libc::raise(libc::SIGTERM) };
        });
        assert_eq!(killed.reap().unwrap(), ChildEnd::Killed(libc::SIGTERM));
        let exited = forked(|_| {
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(3) };
        });
        assert_eq!(exited.reap().unwrap(), ChildEnd::Exited(3));
        // Nobody reads: no signal, but no success either.
        let mut ignored = forked(|outbox| outbox.send(&vec![0; 1 << 20]));
        assert_eq!(ignored.read(&mut [0; 10]).unwrap(), 10);
        drop(ignored);
    });
}

#[test]
fn a_panic_of_a_child_is_in_its_outbox_and_not_on_standard_error() {
    on_cores(1, || {
        let mut child = forked(|outbox| {
            let panicked = std::panic::catch_unwind(|| panic!("a figure of speech"));
            assert!(panicked.is_err());
            let words = outbox.last_panic();
            outbox.send(words.as_bytes());
        });
        let words = String::from_utf8(message_of(&mut child)).unwrap();
        assert!(words.contains("a figure of speech"), "{words}");
        assert!(words.contains("forking.rs"), "{words}");
    });
}

/// Says that it is being formatted, and goes on when it is told to.
struct Slow(mpsc::Sender<()>, mpsc::Receiver<()>);

impl fmt::Display for Slow {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.send(()).unwrap();
        // Ends when the other side is dropped.
        let _ = self.1.recv();
        Ok(())
    }
}

#[test]
fn a_child_does_not_wait_for_a_thread_that_panics_in_the_parent() {
    let (panics, panicking) = mpsc::channel();
    let (end, go_on) = mpsc::channel();
    let thread = std::thread::spawn(move || panic!("{}", Slow(panics, go_on)));
    // From here on the thread holds the lock of the process's panic hook.
    panicking.recv().unwrap();
    on_cores(1, || {
        let mut child = forked(|outbox| {
            let panicked = std::panic::catch_unwind(|| panic!("a child's own"));
            assert!(panicked.is_err());
            let words = outbox.last_panic();
            outbox.send(words.as_bytes());
        });
        let words = String::from_utf8(message_of(&mut child)).unwrap();
        assert!(words.contains("a child's own"), "{words}");
    });
    drop(end);
    assert!(thread.join().is_err());
}

#[test]
fn a_child_does_not_keep_a_data_directory_that_its_parent_has_left() {
    let directory = tempfile::tempdir().unwrap();
    let lock = FileSystem::new()
        .lock_data_directory(directory.path())
        .unwrap();
    let path = directory.path().to_path_buf();
    let child = on_cores(1, || {
        forked(|_| {
            loop {
                std::thread::park();
            }
        })
    });
    drop(lock);
    FileSystem::new().lock_data_directory(path).unwrap();
    drop(child);
}

#[test]
fn threads_are_not_forked() {
    assert!(fork().is_err());
    RealMachine::new(1).run(|| assert!(fork().is_err()));
}

/// Whether a process is there and not a zombie.
fn is_alive(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat"));
    state.is_ok_and(|state| !state.contains(") Z "))
}

#[test]
fn children_end_with_their_parent() {
    const NAME: &str = "forking::children_end_with_their_parent";
    if child::task().is_some() {
        on_cores(1, || {
            let mut waits = forked(|outbox| {
                // First its number, then nothing for a long time.
                println!("process {}", std::process::id());
                std::thread::sleep(std::time::Duration::from_secs(600));
                outbox.send(b"");
            });
            // Until somebody kills this one.
            let _ = waits.read(&mut [0; 1]);
        });
        return;
    }
    let mut parent = child::command(NAME, "parent")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let output = std::io::BufReader::new(parent.stdout.take().unwrap());
    let process = std::io::BufRead::lines(output)
        .map(Result::unwrap)
        .find_map(|line| {
            let number = line.split("process ").nth(1)?;
            Some(number.to_owned())
        })
        .expect("the child tells its number");
    assert!(is_alive(&process));
    parent.kill().unwrap();
    parent.wait().unwrap();
    let begin = std::time::Instant::now();
    while is_alive(&process) {
        assert!(begin.elapsed().as_secs() < 20, "{process} is still there");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn another_seed_is_another_future_and_the_same_one_the_same() {
    let draws = |seeds: [u64; 2]| {
        on_cores(1, move || {
            let mut before = stream("x");
            let mut drawn = vec![before.next_u64()];
            for seed in seeds {
                reseed(seed);
                drawn.push(stream("x").next_u64());
            }
            // One that is kept stays.
            drawn.push(before.next_u64());
            drawn
        })
    };
    let (one, other) = (draws([5, 6]), draws([6, 5]));
    assert_eq!((one[0], one[1], one[2]), (other[0], other[2], other[1]));
    assert_ne!(one[1], one[2]);
    assert_eq!(one[3], other[3]);
}
