//! The roll pointer: where the previous version of a row is described.
//!
//! Every clustered record ends its key with DB_TRX_ID (who changed it last) and
//! DB_ROLL_PTR (the undo record of that change). Following roll pointers from
//! undo record to undo record walks a row's history backwards.
//!
//! ```text
//!   bit 55      54..48             47..16            15..0
//!  +--------+------------------+-----------------+--------------+
//!  | insert | rollback segment | undo page       | byte offset  |
//!  +--------+------------------+-----------------+--------------+
//!   a3 00000139 0110  =  insert, segment 35, page 313, offset 272
//! ```

use super::PageNumber;

/// Stored length of DB_ROLL_PTR in bytes.
pub const ROLL_POINTER_LENGTH: usize = 7;

/// The address of an undo record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RollPointer {
    /// The change was an insert, so there is no older version.
    pub is_insert: bool,
    /// The rollback segment, 0 to 127, in which the undo page lies.
    pub rollback_segment_id: u8,
    /// The undo page.
    pub page: PageNumber,
    /// The undo record's first byte on that page.
    pub offset: u16,
}

impl RollPointer {
    /// "Visible to everyone, no history": what MariaDB's IMPORT TABLESPACE gives
    /// to every row, together with DB_TRX_ID 0.
    pub const NO_HISTORY: RollPointer = RollPointer {
        is_insert: true,
        rollback_segment_id: 0,
        page: PageNumber(0),
        offset: 0,
    };

    /// The seven bytes in a record.
    pub const fn to_bytes(self) -> [u8; ROLL_POINTER_LENGTH] {
        let [p0, p1, p2, p3] = self.page.0.to_be_bytes();
        let [o0, o1] = self.offset.to_be_bytes();
        let first = (self.is_insert as u8) << 7 | (self.rollback_segment_id & 0x7F);
        [first, p0, p1, p2, p3, o0, o1]
    }

    /// Reads the seven bytes of a record. Every value is a pointer.
    pub const fn from_bytes(bytes: [u8; ROLL_POINTER_LENGTH]) -> RollPointer {
        let [first, p0, p1, p2, p3, o0, o1] = bytes;
        RollPointer {
            is_insert: first & 0x80 != 0,
            rollback_segment_id: first & 0x7F,
            page: PageNumber(u32::from_be_bytes([p0, p1, p2, p3])),
            offset: u16::from_be_bytes([o0, o1]),
        }
    }

    /// The pointer as a number of 56 bits, the form undo records use.
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f, g] = self.to_bytes();
        u64::from_be_bytes([0, a, b, c, d, e, f, g])
    }

    /// The pointer in the low 56 bits of a number.
    pub const fn from_u64(value: u64) -> RollPointer {
        let [_, a, b, c, d, e, f, g] = value.to_be_bytes();
        RollPointer::from_bytes([a, b, c, d, e, f, g])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_a_real_server() {
        let pointer = RollPointer::from_bytes([0xa3, 0x00, 0x00, 0x01, 0x39, 0x01, 0x10]);
        assert_eq!(
            pointer,
            RollPointer {
                is_insert: true,
                rollback_segment_id: 35,
                page: PageNumber(313),
                offset: 272
            }
        );
        assert_eq!(RollPointer::NO_HISTORY.to_bytes(), [0x80, 0, 0, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn every_value_round_trips(value in 0u64..1 << 56) {
            let pointer = RollPointer::from_u64(value);
            prop_assert_eq!(pointer.to_u64(), value);
            prop_assert_eq!(RollPointer::from_bytes(pointer.to_bytes()), pointer);
        }
    }
}
