//! Private data of a controller, encoded by the controller itself.

/// Private bytes of a controller, from its sender half to its receiver half on packets, or from its receiver half to
/// its sender half in reports.
///
/// DCCP carries them in option 128 on data packets and option 192 in reports (RFC 4340 section 10.3); agents of the
/// simulator carry them unencoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    len: u8,
    bytes: [u8; Self::MAX_LEN],
}

impl Own {
    /// Maximum number of bytes of private data on a packet or in a report.
    pub const MAX_LEN: usize = 15;
    /// No data; occupies no bytes on the wire.
    pub const NONE: Self = Self { len: 0, bytes: [0; Self::MAX_LEN] };

    /// Creates data of these bytes; `None` if there are more than [`MAX_LEN`](Self::MAX_LEN).
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut own = Self { len: u8::try_from(bytes.len()).ok()?, ..Self::NONE };
        own.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(own)
    }

    /// Returns the bytes, at most [`MAX_LEN`](Self::MAX_LEN).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }

    /// Returns whether there are no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_up_to_15_bytes_and_rejects_more() {
        let all: Vec<u8> = (1..=16).collect();
        for len in 0..=Own::MAX_LEN {
            let own = Own::new(&all[..len]).unwrap();
            assert_eq!((own.as_bytes(), own.is_empty()), (&all[..len], len == 0));
        }
        assert_eq!((Own::new(&all), Own::new(&[0; 300])), (None, None));
        assert_eq!(Own::new(&[]), Some(Own::NONE));
    }
}
