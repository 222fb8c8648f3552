//! A tablespace file written with this module alone, judged by an independent
//! checker (tools/ibd_check.py, which needs Python 3).

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use innosim_engine::page::extent_descriptor::{ExtentDescriptor, ExtentState};
use innosim_engine::page::file_list::{FileAddress, ListBase, ListNode};
use innosim_engine::page::index_header::{self, CLUSTERED_LEAF_RESERVE};
use innosim_engine::page::segment_inode::{self, SegmentInode};
use innosim_engine::page::{
    BulkPage, ChecksumFormat, IndexPage, NoLog, PAGE_SIZE, PageBytes, PageId, PageNumber, PageType,
    PageWriter, RecordBuffer, RecordFormat, SpaceId, fil, space_header,
};

use crate::support::*;

const SPACE: u32 = 11;

/// A tablespace in memory, of one extent.
struct File {
    pages: Vec<Box<PageBytes>>,
}

/// One index while it is built: its segments' inodes and the pages they own.
struct Index {
    id: u64,
    root: u32,
    /// Inodes of the top and the leaf segment.
    inodes: (usize, usize),
    top: Vec<u32>,
    leaf: Vec<u32>,
}

impl File {
    fn new() -> File {
        let mut file = File { pages: Vec::new() };
        file.add(PageType::SpaceHeader);
        file.add(PageType::ChangeBufferBitmap);
        file.add(PageType::Inode);
        file
    }

    fn write<T>(&mut self, number: u32, change: impl FnOnce(&mut PageWriter<'_, NoLog>) -> T) -> T {
        let mut log = NoLog;
        change(&mut PageWriter::new(
            &mut self.pages[number as usize],
            &mut log,
        ))
    }

    fn add(&mut self, page_type: PageType) -> u32 {
        let number = self.pages.len() as u32;
        self.pages.push(Box::new([0; PAGE_SIZE]));
        self.write(number, |writer| {
            writer.initialise_page(PageId::new(SPACE, number), page_type);
        });
        number
    }

    /// Builds the pages of one level from records in key order, and returns the
    /// first key and number of each.
    fn build_level(
        &mut self,
        index: &mut Index,
        format: &RecordFormat,
        level: u16,
        records: &[(Fields, Option<u32>)],
    ) -> Vec<(Fields, u32)> {
        let reserve = if level == 0 && format.is_clustered() {
            CLUSTERED_LEAF_RESERVE
        } else {
            0
        };
        let mut pages = Vec::new();
        let mut rest = records;
        while !rest.is_empty() {
            let number = self.add(PageType::Index);
            if level == 0 {
                &mut index.leaf
            } else {
                &mut index.top
            }
            .push(number);
            let first_key = rest[0].0[..format.key_fields()].to_vec();
            let taken = self.fill(
                number,
                index.id,
                format,
                level,
                reserve,
                rest,
                pages.is_empty(),
            );
            pages.push((first_key, number));
            rest = &rest[taken..];
        }
        for pair in 0..pages.len() {
            let previous = pair.checked_sub(1).map(|left| PageNumber(pages[left].1));
            let next = pages.get(pair + 1).map(|page| PageNumber(page.1));
            self.write(pages[pair].1, |writer| writer.set_siblings(previous, next));
        }
        pages
    }

    #[expect(clippy::too_many_arguments)]
    fn fill(
        &mut self,
        number: u32,
        index_id: u64,
        format: &RecordFormat,
        level: u16,
        reserve: usize,
        records: &[(Fields, Option<u32>)],
        leftmost: bool,
    ) -> usize {
        self.write(number, |writer| {
            writer.initialise_index_page(PageId::new(SPACE, number), level, index_id);
            if level == 0 && !format.is_clustered() {
                writer.set(index_header::MAX_TRX_ID, 1);
            }
            let mut buffer = RecordBuffer::new();
            let mut bulk = BulkPage::new(writer, reserve);
            for (fields, child) in records {
                let first = leftmost && bulk.record_count() == 0;
                match child {
                    None => format.build(&borrow(fields), &mut buffer).unwrap(),
                    Some(child) => {
                        let key = &borrow(fields)[..format.key_fields()];
                        let child = PageNumber(*child);
                        format
                            .build_node_pointer(key, child, first, &mut buffer)
                            .unwrap();
                    }
                }
                if !bulk.append(buffer.image()) {
                    break;
                }
            }
            let count = bulk.record_count();
            bulk.finish();
            count
        })
    }

    /// Builds a tree under the root page that `index` has already.
    fn build_tree(&mut self, index: &mut Index, format: &RecordFormat, rows: &[Fields]) {
        let mut level = 0;
        let mut records: Vec<_> = rows.iter().map(|fields| (fields.clone(), None)).collect();
        loop {
            // Does the level fit the root?
            let taken = self.fill(index.root, index.id, format, level, 0, &records, true);
            if taken == records.len() {
                break;
            }
            let pages = self.build_level(index, format, level, &records);
            records = pages
                .into_iter()
                .map(|(key, page)| (key, Some(page)))
                .collect();
            level += 1;
        }
        let header = |inode| SegmentInode::nth(inode).header(SpaceId(SPACE), PageNumber(2));
        let (top, leaf) = (header(index.inodes.0), header(index.inodes.1));
        self.write(index.root, |writer| {
            writer.set(index_header::TOP_SEGMENT, top);
            writer.set(index_header::LEAF_SEGMENT, leaf);
        });
        for (inode, pages) in [(index.inodes.0, &index.top), (index.inodes.1, &index.leaf)] {
            assert!(pages.len() <= segment_inode::FRAGMENT_SLOTS);
            self.write(2, |writer| {
                let segment = SegmentInode::nth(inode);
                segment.initialise(writer, inode as u64 + 1);
                for (slot, &page) in pages.iter().enumerate() {
                    writer.set(segment.fragment(slot), PageNumber(page));
                }
            });
        }
    }

    /// The space header, the one extent, the one INODE page.
    fn close(&mut self) {
        let size = self.pages.len() as u32;
        assert!(size < 64);
        let inode_node = FileAddress::new(PageNumber(2), segment_inode::PAGE_NODE.offset() as u16);
        self.write(2, |writer| {
            writer.set(segment_inode::PAGE_NODE, ListNode::ALONE)
        });
        self.write(0, |writer| {
            use space_header::*;
            let extent = ExtentDescriptor::of_page(PageNumber(0));
            writer.set(SPACE_ID, SpaceId(SPACE));
            writer.set(SIZE, size);
            writer.set(FREE_LIMIT, 64);
            writer.set(FLAGS, FLAGS_DYNAMIC_CRC32);
            writer.set(FRAGMENTS_USED, size);
            writer.set(FREE, ListBase::EMPTY);
            writer.set(
                FREE_FRAGMENTS,
                ListBase::of_one(extent.node_address(PageNumber(0))),
            );
            writer.set(FULL_FRAGMENTS, ListBase::EMPTY);
            writer.set(NEXT_SEGMENT_ID, 5);
            writer.set(INODES_FULL, ListBase::EMPTY);
            writer.set(INODES_FREE, ListBase::of_one(inode_node));
            extent.initialise(writer);
            extent.set_state(writer, ExtentState::FreeFragment);
            (0..size).for_each(|page| extent.set_free(writer, page, false));
        });
        for (number, page) in self.pages.iter_mut().enumerate() {
            fil::stamp_for_write(page, 8192 + number as u64);
            fil::verify(
                page,
                PageId::new(SPACE, number as u32),
                ChecksumFormat::Crc32,
            )
            .unwrap();
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.pages
            .iter()
            .flat_map(|page| page.iter().copied())
            .collect()
    }
}

/// A file with sbtest1 as CREATE TABLE and a load would leave it.
fn sbtest_file() -> File {
    // More rows than the sample, so that k_1 has two levels.
    let mut rows = sbtest_rows();
    for row in sbtest_rows() {
        rows.push(SbtestRow {
            id: row.id + 1000,
            k: 1001 - row.k,
            ..row
        });
    }
    let mut file = File::new();
    let (primary_root, k_root) = (file.add(PageType::Index), file.add(PageType::Index));
    let index = |id, root, inodes| Index {
        id,
        root,
        inodes,
        top: vec![root],
        leaf: vec![],
    };

    let clustered: Vec<_> = rows.iter().map(SbtestRow::clustered_fields).collect();
    file.build_tree(
        &mut index(101, primary_root, (0, 1)),
        &sbtest_primary(),
        &clustered,
    );

    let mut entries: Vec<_> = rows.iter().map(SbtestRow::k_fields).collect();
    entries.sort();
    file.build_tree(&mut index(102, k_root, (2, 3)), &sbtest_k(), &entries);
    file.close();
    file
}

enum Verdict {
    Good(String),
    Bad(String),
    /// There is no Python 3 here.
    Skipped,
}

fn ibd_check(file: &File) -> Verdict {
    let tool = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tools/ibd_check.py");
    let mut temporary = tempfile::Builder::new().suffix(".ibd").tempfile().unwrap();
    temporary.write_all(&file.bytes()).unwrap();
    temporary.flush().unwrap();
    let mut python = Command::new("python3");
    let output = python
        .arg(tool)
        .args(["--schema", "sbtest1"])
        .arg(temporary.path())
        .output();
    let Ok(output) = output else {
        return Verdict::Skipped;
    };
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match output.status.code() {
        Some(0) => Verdict::Good(text),
        _ => Verdict::Bad(text),
    }
}

#[test]
fn an_independent_checker_accepts_a_built_file() {
    let file = sbtest_file();
    let root = IndexPage::new(&file.pages[3]);
    assert_eq!((root.level(), root.record_count()), (1, 28));
    match ibd_check(&file) {
        Verdict::Good(report) => {
            assert!(report.contains("index 101 PRIMARY: root page 3, 2 level(s), 29 pages, 2000 rows, 0 delete-marked"), "{report}");
            assert!(
                report.contains("index 102 k_1: root page 4, 2 level(s)"),
                "{report}"
            );
            assert!(
                report.contains("OK; 35 pages, crc32, flags 0x21, space 11"),
                "{report}"
            );
        }
        Verdict::Bad(report) => panic!("{report}"),
        Verdict::Skipped => eprintln!("SKIPPED: python3 is not here, the file was not checked"),
    }
}

/// The checker is no rubber stamp: it refuses the same file with one fault.
#[test]
fn an_independent_checker_refuses_a_damaged_file() {
    let mut file = sbtest_file();
    file.write(5, |writer| {
        let owner = usize::from(writer.index_page().slot(1));
        writer.write(owner - 5, &[5]);
    });
    fil::stamp_for_write(&mut file.pages[5], 9000);
    match ibd_check(&file) {
        Verdict::Good(report) => panic!("accepted a wrong n_owned: {report}"),
        Verdict::Bad(report) => assert!(report.contains("VIOLATION page 5"), "{report}"),
        Verdict::Skipped => eprintln!("SKIPPED: python3 is not here, the file was not checked"),
    }
}
