//! `--scale N`: what is divided, and from what defaults are derived.

use super::*;
use crate::sysvar::registry::MIB;

fn at_scale(scale: u32, text: &str) -> Settings {
    let scale = NonZeroU32::new(scale).unwrap();
    resolve(
        Flavor::MySql8_4,
        &options_of(&format!("[mysqld]\n{text}")),
        MACHINE,
        scale,
    )
    .unwrap()
}

#[test]
fn sizes_shrink_and_what_is_derived_from_them_does_not() {
    let settings = at_scale(
        64,
        "innodb_buffer_pool_size=72G\ninnodb_dedicated_server\ninnodb_lru_scan_depth=20000",
    );
    let (scaled, unscaled) = (settings.scaled(), settings.unscaled());
    assert_eq!(unscaled.innodb_buffer_pool_size(), 72 * GIB);
    assert_eq!(scaled.innodb_buffer_pool_size(), GIB + 128 * MIB);
    // By the rule for a pool of 1.1 GiB it would be four (nine chunks by two).
    assert_eq!(scaled.innodb_buffer_pool_instances(), 12);
    assert_eq!(scaled.innodb_page_cleaners(), 12);
    assert_eq!(scaled.innodb_buffer_pool_chunk_size(), 2 * MIB);
    assert_eq!(
        (
            unscaled.innodb_redo_log_capacity(),
            scaled.innodb_redo_log_capacity()
        ),
        (16 * GIB, 256 * MIB)
    );
    assert_eq!(
        (
            unscaled.innodb_lru_scan_depth(),
            scaled.innodb_lru_scan_depth()
        ),
        (20_000, 312)
    );
}

#[test]
fn rates_periods_and_the_log_buffer_are_kept() {
    let settings = at_scale(64, "");
    let scaled = settings.scaled();
    assert_eq!(scaled.innodb_io_capacity(), 10_000);
    assert_eq!(scaled.innodb_doublewrite_pages(), 128);
    assert_eq!(scaled.innodb_log_buffer_size(), 64 * MIB);
    assert_eq!(scaled.innodb_log_checkpoint_every(), 1000);
    assert_eq!(scaled.innodb_page_size(), 16 * 1024);
}

#[test]
fn bounds_hold_before_scaling_only() {
    let settings = at_scale(64, "");
    assert_eq!(
        settings.scaled().innodb_redo_log_capacity(),
        1_638_400,
        "below the server's 8M"
    );
    assert_eq!(
        settings.scaled().innodb_lru_scan_depth(),
        16,
        "below the server's 100"
    );
    assert_eq!(warnings(&settings), [""; 0]);
}

#[test]
fn scale_1_changes_nothing() {
    let settings = at_scale(1, "innodb_buffer_pool_size=5G");
    assert!(
        settings
            .iter()
            .all(|setting| setting.scaled == setting.unscaled)
    );
}
