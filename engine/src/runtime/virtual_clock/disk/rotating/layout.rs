//! Where the array's bytes lie.
//!
//! ```text
//!   stripe units of the host:     0 1 2 3 4 5 6 7 …
//!   columns (disks or pairs):     0: 0 3 6     a column is a disk, or with two copies
//!                                 1: 1 4 7     a pair of disks that hold the same
//!                                 2: 2 5 8
//! ```

/// Striping over columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) columns: u32,
    /// Bytes of a stripe unit.
    pub(super) stripe: u64,
}

/// A piece of a request that lies on one column in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) column: u32,
    /// First byte on the disks of the column.
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl Layout {
    /// Cut a range of the host's addresses at the multiples of `granule`, which divides the
    /// stripe unit.
    pub(super) fn pieces(
        self,
        address: u64,
        length: u32,
        granule: u64,
    ) -> impl Iterator<Item = Piece> {
        debug_assert!(self.stripe.is_multiple_of(granule));
        let end = address + u64::from(length);
        let mut at = address;
        std::iter::from_fn(move || {
            if at == end {
                return None;
            }
            let length = (granule - at % granule).min(end - at);
            let unit = at / self.stripe;
            let columns = u64::from(self.columns);
            let piece = Piece {
                column: (unit % columns) as u32,
                offset: unit / columns * self.stripe + at % self.stripe,
                length: length as u32,
            };
            at += length;
            Some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts_at_stripe_units() {
        let layout = Layout {
            columns: 3,
            stripe: 100,
        };
        let pieces: Vec<Piece> = layout.pieces(250, 200, 100).collect();
        let piece = |column, offset, length| Piece {
            column,
            offset,
            length,
        };
        assert_eq!(
            pieces,
            [piece(2, 50, 50), piece(0, 100, 100), piece(1, 100, 50)]
        );
    }

    proptest! {
        /// Every byte is where the definition says, once.
        #[test]
        fn agrees_byte_by_byte(columns in 1_u32..5, address in 0_u64..500, length in 1_u32..300, fine in any::<bool>()) {
            let layout = Layout { columns, stripe: 40 };
            let granule = if fine { 10 } else { 40 };
            let mut at = address;
            for piece in layout.pieces(address, length, granule) {
                prop_assert!(piece.length > 0 && u64::from(piece.length) <= granule);
                for inside in 0..u64::from(piece.length) {
                    let unit = at / 40;
                    prop_assert_eq!(u64::from(piece.column), unit % u64::from(columns));
                    prop_assert_eq!(piece.offset + inside, unit / u64::from(columns) * 40 + at % 40);
                    at += 1;
                }
            }
            prop_assert_eq!(at, address + u64::from(length));
        }
    }
}
