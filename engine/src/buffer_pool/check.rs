//! What must hold in a pool that nobody is using just now.

use std::collections::BTreeMap;

use super::control_block::IoState;
use super::hooks::FlushKind;
use super::instance::Instance;
use super::pool::BufferPool;

impl BufferPool {
    /// Checks that every frame is where it belongs: on the free list or, with its page, on
    /// the LRU list; that a page is in one frame only and found there; that the flush lists
    /// hold the dirty pages, in order; that nothing is under I/O. Returns what is wrong, a
    /// sentence each.
    ///
    /// Only for a pool at rest: with others at work it finds faults that are none.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (number, instance) in self.instances.iter().enumerate() {
            let of_instance = self.instance_faults(number, instance);
            let prefix = |fault| format!("instance {number}: {fault}");
            faults.extend(of_instance.into_iter().map(prefix));
        }
        faults
    }

    fn instance_faults(&self, number: usize, instance: &Instance) -> Vec<String> {
        let mut faults = Vec::new();
        let free = instance.free_frames();
        let lru = instance.lru();
        let flush_list = instance.flush_list();
        faults.extend(lru.faults(&instance.blocks));

        let mut places = vec![0; instance.blocks.len()];
        for &frame in &free {
            places[frame as usize] += 1;
            if instance.block(frame).page_id().is_some() {
                faults.push(format!("free frame {frame} holds a page"));
            }
        }
        let mut pages = BTreeMap::new();
        for frame in lru.iter() {
            places[frame as usize] += 1;
            let Some(page) = instance.block(frame).page_id() else {
                faults.push(format!("frame {frame} of the LRU list holds no page"));
                continue;
            };
            if let Some(other) = pages.insert(page, frame) {
                faults.push(format!("{page} is in frames {other} and {frame}"));
            }
            let found = instance.hash.read(page).find(&instance.blocks, page);
            if found != Some(frame) {
                faults.push(format!(
                    "{page} is in frame {frame}, the hash says {found:?}"
                ));
            }
            if self.instance_of(page) != number {
                faults.push(format!("{page} is in the wrong instance"));
            }
        }
        for (frame, &count) in places.iter().enumerate() {
            if count != 1 {
                faults.push(format!("frame {frame} is in {count} places"));
            }
        }
        for frame in 0..instance.blocks.len() as u32 {
            let block = instance.block(frame);
            let dirty = block.oldest_modification() != 0;
            if dirty != flush_list.contains(frame) {
                faults.push(format!(
                    "frame {frame}: dirty {dirty}, on the flush list {}",
                    !dirty
                ));
            }
            if dirty && !lru.contains(frame) {
                faults.push(format!("frame {frame} is dirty and not on the LRU list"));
            }
            if block.io() != IoState::None {
                faults.push(format!("frame {frame} is under I/O: {:?}", block.io()));
            }
            if block.latch.is_locked() {
                faults.push(format!("frame {frame} is latched"));
            }
        }
        let statistics = instance.statistics();
        let lengths = (statistics.free, statistics.lru, statistics.dirty);
        let counted = (free.len(), lru.len(), flush_list.iter().count());
        if lengths != counted {
            faults.push(format!("lengths {lengths:?} are kept, {counted:?} counted"));
        }
        drop((flush_list, lru));
        for kind in FlushKind::ALL {
            if self.is_flushing(number, kind) {
                faults.push(format!("a flush of kind {kind:?} is under way"));
            }
        }
        faults
    }

    /// The sum of all fix counts.
    pub fn fixed_pages(&self) -> usize {
        let blocks = self.instances.iter().flat_map(|instance| &instance.blocks);
        blocks.map(|block| block.fix_count() as usize).sum()
    }
}
