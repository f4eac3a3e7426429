//! Sequence numbers in headers: long (X = 1) or short (X = 0), at the end of their field.

use headway_units::{Circular, Seq24, Seq48};

/// Sequence number in a header: [`Seq48`] or [`Seq24`].
pub trait SequenceNumber: Copy + std::fmt::Display + sealed::Sealed {
    /// Value of the X bit.
    const EXTENDED: bool;

    /// Reads the number from the end of `field`.
    #[doc(hidden)]
    fn read(field: &[u8]) -> Self;
    /// Writes the number to the end of `field`.
    #[doc(hidden)]
    fn write(self, field: &mut [u8]);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Seq48 {}
    impl Sealed for super::Seq24 {}
}

impl SequenceNumber for Seq48 {
    const EXTENDED: bool = true;
    fn read(field: &[u8]) -> Self {
        read::<48, 6>(field)
    }
    fn write(self, field: &mut [u8]) {
        write::<48, 6>(self, field);
    }
}

impl SequenceNumber for Seq24 {
    const EXTENDED: bool = false;
    fn read(field: &[u8]) -> Self {
        read::<24, 3>(field)
    }
    fn write(self, field: &mut [u8]) {
        write::<24, 3>(self, field);
    }
}

fn read<const BITS: u32, const BYTES: usize>(field: &[u8]) -> Circular<BITS> {
    let bytes = field.last_chunk::<BYTES>().copied().unwrap_or([0; BYTES]);
    Circular::new(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn write<const BITS: u32, const BYTES: usize>(number: Circular<BITS>, field: &mut [u8]) {
    if let (Some(place), Some(bytes)) = (field.last_chunk_mut::<BYTES>(), number.value().to_be_bytes().last_chunk()) {
        *place = *bytes;
    }
}
