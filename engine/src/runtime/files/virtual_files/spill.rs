//! Images that do not fit in memory go to an unlinked file, by a helper OS thread.
//!
//! ```text
//!   loop thread                           helper thread
//!   image over budget --- requests --->   write it to its slot of the file
//!   forget the image  <---- done ------   (the image comes back with the answer)
//! ```
//!
//! The loop looks at the answers when it next stores an image, so *when* an image
//! leaves memory depends on the host. Nothing in the simulation does: an image reads
//! the same from memory and from the file, at no virtual time.
//!
//! **fork(2).** [`Spiller::stop`] joins the helper. After it the file is only read: new
//! images go to a new file, so that parent and child, which share the old one, do not
//! write over each other's slots.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::runtime::files::image::{IMAGE_BYTES, Image};

/// A place in a spill file: the file's number and the slot's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    file: u32,
    index: u32,
}

impl Slot {
    fn offset(self) -> u64 {
        u64::from(self.index) * IMAGE_BYTES as u64
    }
}

struct Request {
    name: u64,
    slot: Slot,
    image: Image,
    file: Arc<File>,
}

/// The helper's answer.
pub(super) struct Done {
    /// What the image was called.
    pub(super) name: u64,
    /// Where it is now.
    pub(super) slot: Slot,
    /// Whether it is there.
    pub(super) result: io::Result<()>,
    /// The helper's reference comes back, so that images die on the loop's thread.
    _image: Image,
}

struct Helper {
    requests: Sender<Request>,
    done: Receiver<Done>,
    thread: JoinHandle<()>,
}

/// The spill files and the helper thread, which is started when first needed.
pub(super) struct Spiller {
    directory: PathBuf,
    helper: Option<Helper>,
    files: Vec<Arc<File>>,
    /// The last file takes no more slots.
    frozen: bool,
    free: Vec<Slot>,
    next: u32,
    in_flight: usize,
}

impl Spiller {
    pub(super) fn new(directory: PathBuf) -> Self {
        Spiller {
            directory,
            helper: None,
            files: Vec::new(),
            frozen: true,
            free: Vec::new(),
            next: 0,
            in_flight: 0,
        }
    }

    /// Images on their way.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Sends an image to the file.
    ///
    /// # Errors
    /// If there is no file to write to.
    pub(super) fn start(&mut self, name: u64, image: Image) -> io::Result<()> {
        if self.frozen {
            self.files.push(Arc::new(unlinked_file(&self.directory)?));
            self.frozen = false;
            self.next = 0;
        }
        let file = self.files.len() - 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            Slot {
                file: file as u32,
                index: self.next - 1,
            }
        });
        let request = Request {
            name,
            slot,
            image,
            file: self.files[file].clone(),
        };
        let helper = match &mut self.helper {
            Some(helper) => helper,
            none => none.insert(start_helper()?),
        };
        self.in_flight += 1;
        let sent = helper.requests.send(request);
        sent.map_err(|_| io::Error::other("the spill thread has ended"))
    }

    /// An answer of the helper; waits for one if asked to.
    pub(super) fn finished(&mut self, wait: bool) -> Option<Done> {
        if self.in_flight == 0 {
            return None;
        }
        let helper = self.helper.as_ref()?;
        let done = if wait {
            helper.done.recv().ok()
        } else {
            helper.done.try_recv().ok()
        };
        self.in_flight -= usize::from(done.is_some());
        done
    }

    /// Reads a part of an image back.
    pub(super) fn read(&self, slot: Slot, offset: usize, buffer: &mut [u8]) -> io::Result<()> {
        self.files[slot.file as usize].read_exact_at(buffer, slot.offset() + offset as u64)
    }

    /// The slot's image is not needed any more.
    pub(super) fn release(&mut self, slot: Slot) {
        if !self.frozen && slot.file as usize + 1 == self.files.len() {
            self.free.push(slot);
        }
    }

    /// Waits for all that is on its way and joins the helper; returns its answers.
    pub(super) fn stop(&mut self) -> Vec<Done> {
        let Some(helper) = self.helper.take() else {
            return Vec::new();
        };
        drop(helper.requests);
        // The channel ends when the helper does.
        let done = helper.done.iter().collect();
        self.in_flight = 0;
        self.frozen = true;
        self.free.clear();
        // A helper that panicked has lost images from its queue only; they are still
        // in memory here.
        let _ = helper.thread.join();
        done
    }
}

impl Drop for Spiller {
    fn drop(&mut self) {
        self.stop();
    }
}

fn start_helper() -> io::Result<Helper> {
    let (requests, inbox) = channel::<Request>();
    let (outbox, done) = channel();
    let work = move || {
        for request in inbox {
            let image = request.image;
            let result = request.file.write_all_at(&*image, request.slot.offset());
            let answer = Done {
                name: request.name,
                slot: request.slot,
                result,
                _image: image,
            };
            if outbox.send(answer).is_err() {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("spill".into())
        .spawn(work)?;
    Ok(Helper {
        requests,
        done,
        thread,
    })
}

/// A file that no directory names.
fn unlinked_file(directory: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR) {
        return Ok(file.into());
    }
    // Some file systems have no O_TMPFILE: create under a name, and take it away.
    let mut number = 0;
    loop {
        let name = format!("innosim-spill-{}-{number}", std::process::id());
        let path = directory.join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        match options.open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}
