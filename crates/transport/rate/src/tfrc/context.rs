//! What TFRC's halves ask of their carrier, and no other controller does.

use crate::report::LossForm;

/// How losses are told and judged between two ends of TFRC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TfrcContext {
    /// The form in which the receiver tells of losses, as negotiated (Send Loss Event Rate, RFC 4342 section 8.4).
    pub losses: LossForm,
    /// The carrier verifies what the receiver says: a packet that was told as lost stays lost for the sender, although it may come late
    /// (RFC 5348 section 5.1), and what cannot be verified does not count where something else stands for it.
    pub keeps_losses: bool,
}
