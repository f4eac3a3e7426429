//! A few bytes of a controller's own, which its file codes.

/// What one half of a controller writes for the other, on packets or in reports, beside what the carrier writes itself.
///
/// DCCP carries it as option 128 on data packets and as option 192 in reports (RFC 4340 section 10.3), bare agents as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    len: u8,
    bytes: [u8; Self::MOST],
}

impl Own {
    /// Bytes at most.
    pub const MOST: usize = 15;
    /// Nothing, which travels without a byte.
    pub const NONE: Self = Self { len: 0, bytes: [0; Self::MOST] };

    /// These bytes; `None` if they are more than [`MOST`](Self::MOST).
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut own = Self { len: u8::try_from(bytes.len()).ok()?, ..Self::NONE };
        own.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(own)
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_it_is_given_or_says_that_it_cannot() {
        let all: Vec<u8> = (1..=16).collect();
        for len in 0..=Own::MOST {
            let own = Own::new(&all[..len]).unwrap();
            assert_eq!((own.as_bytes(), own.is_empty()), (&all[..len], len == 0));
        }
        assert_eq!((Own::new(&all), Own::new(&[0; 300])), (None, None));
        assert_eq!(Own::new(&[]), Some(Own::NONE));
    }
}
