//! Context that only TFRC needs.

use crate::report::LossForm;

/// Form and treatment of the loss reports from a TFRC receiver to its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TfrcContext {
    /// Form in which the receiver reports losses, as negotiated by the feature Send Loss Event Rate (RFC 4342 section
    /// 8.4).
    pub losses: LossForm,
    /// Whether the carrier (such as a DCCP connection) verifies reports. If it does, a packet reported lost remains
    /// lost for the sender even if it arrives late, although RFC 5348 section 5.1 permits the receiver to retract the
    /// loss. The sender then also uses the Loss Length instead of Drop Counts, which are unverifiable (RFC 5622 section
    /// 8.7).
    pub keeps_losses: bool,
}
