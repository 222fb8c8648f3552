//! A field of a page: its offset, its width and its name, declared once.
//!
//! Page layouts in this module are tables of [`Field`] constants, made by the
//! `fields!` macro. One declaration serves three readers: code gets and sets the
//! value, dumps print it by its InnoDB name, and tests prove that no two fields
//! overlap. Structures that occur many times on a page (an extent descriptor, a
//! segment inode) declare fields relative to their start; [`Field::at`] shifts
//! one to an actual place.
//!
//! ```text
//!   Field<u16> "PAGE_N_RECS" at 54
//!      |                         54  55
//!      +--- get(page) ------> [ 00 | 49 ]  = 73
//!      +--- writer.set(field, 74): changes the bytes and records the change
//! ```

use std::marker::PhantomData;

use super::PageBytes;

/// A value with a fixed width and one byte form (big-endian for numbers).
pub trait FieldValue: Copy {
    /// Bytes it takes; at most [`MAX_FIELD_LENGTH`].
    const LENGTH: usize;

    /// Reads the value from exactly [`LENGTH`](Self::LENGTH) bytes.
    fn read(bytes: &[u8]) -> Self;

    /// Writes the value into exactly [`LENGTH`](Self::LENGTH) bytes.
    fn write(self, bytes: &mut [u8]);
}

/// The widest field: a list base node.
pub const MAX_FIELD_LENGTH: usize = 16;

macro_rules! integer_field_value {
    ($($integer:ty),*) => {$(
        impl FieldValue for $integer {
            const LENGTH: usize = size_of::<$integer>();

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$integer>()];
                array.copy_from_slice(bytes);
                <$integer>::from_be_bytes(array)
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_be_bytes());
            }
        }
    )*};
}

integer_field_value!(u8, u16, u32, u64);

impl<const N: usize> FieldValue for [u8; N] {
    const LENGTH: usize = N;

    fn read(bytes: &[u8]) -> Self {
        let mut array = [0; N];
        array.copy_from_slice(bytes);
        array
    }

    fn write(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self);
    }
}

/// A named range of bytes of a page or of a structure on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte, from the start of the page or of the structure.
    pub offset: usize,
    /// Number of bytes.
    pub length: usize,
    /// InnoDB's name of the field.
    pub name: &'static str,
}

impl Region {
    /// First byte past the region.
    pub const fn end(&self) -> usize {
        self.offset + self.length
    }
}

/// A typed field at a fixed offset.
#[derive(Debug)]
pub struct Field<T> {
    offset: usize,
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

// Derived `Copy` would ask for `T: Copy` although no `T` is stored.
impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T: FieldValue> Field<T> {
    /// A field at `offset` which InnoDB calls `name`.
    pub const fn new(offset: usize, name: &'static str) -> Field<T> {
        assert!(T::LENGTH <= MAX_FIELD_LENGTH);
        Field {
            offset,
            name,
            value: PhantomData,
        }
    }

    /// The same field of a structure that starts at `base`.
    #[inline(always)]
    pub const fn at(self, base: usize) -> Field<T> {
        Field {
            offset: self.offset + base,
            name: self.name,
            value: PhantomData,
        }
    }

    /// First byte.
    #[inline(always)]
    pub const fn offset(self) -> usize {
        self.offset
    }

    /// First byte past the field.
    pub const fn end(self) -> usize {
        self.offset + T::LENGTH
    }

    /// The field without its type, for dumps and checks.
    pub const fn region(self) -> Region {
        Region {
            offset: self.offset,
            length: T::LENGTH,
            name: self.name,
        }
    }

    /// The value on this page.
    #[inline(always)]
    pub fn get(self, page: &PageBytes) -> T {
        T::read(&page[self.offset..self.offset + T::LENGTH])
    }

    /// Writes the value without recording the change. For code that rebuilds a
    /// page inside a recorded operation; all other code uses `PageWriter::set`.
    #[inline(always)]
    pub(super) fn put(self, page: &mut PageBytes, value: T) {
        value.write(&mut page[self.offset..self.offset + T::LENGTH]);
    }
}

/// Declares the fields of one layout and the table of their regions.
///
/// `NAME: type = offset, "INNODB_NAME";` makes a `pub const NAME: Field<type>`,
/// and the table lists all of them in order.
macro_rules! fields {
    (
        $(#[$table_meta:meta])*
        pub const $table:ident;
        $( $(#[$meta:meta])* $name:ident: $value:ty = $offset:expr, $label:literal; )*
    ) => {
        $(
            $(#[$meta])*
            pub const $name: $crate::page::field::Field<$value> =
                $crate::page::field::Field::new($offset, $label);
        )*
        $(#[$table_meta])*
        pub const $table: &[$crate::page::field::Region] = &[$($name.region()),*];
    };
}

pub(super) use fields;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_reads_big_endian_at_its_offset() {
        let mut page = [0; crate::page::PAGE_SIZE];
        page[100..104].copy_from_slice(&[1, 2, 3, 4]);
        let field: Field<u32> = Field::new(90, "X");
        assert_eq!(field.at(10).get(&page), 0x0102_0304);
        assert_eq!(
            field.at(10).region(),
            Region {
                offset: 100,
                length: 4,
                name: "X"
            }
        );
        field.put(&mut page, 7);
        assert_eq!(page[90..94], [0, 0, 0, 7]);
    }
}
