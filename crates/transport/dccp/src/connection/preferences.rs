//! Local preferences for features: the options, and the requirements of the CCIDs (RFC 4341 section
//! 4, RFC 4342 section 8.4).

use super::feature_slot::{List, Side};
use super::negotiation::Negotiation;
use super::options::ConnectionOptions;
use crate::ccid::CcidProfile;
use crate::feature::{Ccid, Feature};
use headway_rate::Terms;

/// Settings derived from the current feature values, cached for packet processing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// CCID of our data, and of the peer's.
    pub(crate) send_ccid: u8,
    pub(crate) receive_ccid: u8,
    /// Formats of the CCID of our data, and of the peer's.
    pub(crate) sending: CcidProfile,
    pub(crate) receiving: CcidProfile,
    /// Whether we send Ack Vectors, and whether the peer does.
    pub(crate) we_send_vectors: bool,
    pub(crate) peer_sends_vectors: bool,
    /// Whether we send NDP Counts, and whether the peer does.
    pub(crate) we_count: bool,
    pub(crate) peer_counts: bool,
    /// Whether we may send repair packets, and whether the peer may.
    pub(crate) we_repair: bool,
    pub(crate) peer_repairs: bool,
    /// Whether we report a Loss Event Rate instead of Loss Intervals.
    pub(crate) we_send_loss_event_rate: bool,
    /// Whether our packets are sent as ECN-capable.
    pub(crate) ect: bool,
    /// Whether data may be received: if we cannot read ECN, the peer must know.
    pub(crate) can_receive_data: bool,
    /// Whether data may be sent: all negotiations that it depends on have ended (RFC 4341 section 4).
    pub(crate) can_send_data: bool,
    /// CsCov of our data, 0 to 15.
    pub(crate) send_coverage: u8,
    /// Minimum accepted CsCov of the peer's data, 0 for full coverage only.
    pub(crate) minimum_coverage: u8,
}

impl Agreed {
    pub(crate) fn of(negotiation: &Negotiation, options: &ConnectionOptions) -> Self {
        let value = |side, feature| negotiation.value(side, feature);
        let local = |feature| value(Side::Local, feature) == 1;
        let remote = |feature| value(Side::Remote, feature) == 1;
        let peers_minimum = value(Side::Remote, Feature::MINIMUM_CHECKSUM_COVERAGE) as u8;
        let partial = options.send_coverage > 0 && peers_minimum > 0;
        let vectors_open = negotiation.is_changing(Side::Remote, Feature::SEND_ACK_VECTOR);
        let ccid_open = negotiation.is_changing(Side::Local, Feature::CCID);
        let checksum_open = negotiation.is_changing(Side::Remote, Feature::CHECK_DATA_CHECKSUM);
        let of_terms = [Feature::SCALES, Feature::SCALE_RULES];
        let terms_open = of_terms.into_iter().any(|feature| negotiation.is_changing(Side::Local, feature));
        let [send_ccid, receive_ccid] = [Side::Local, Side::Remote].map(|side| value(side, Feature::CCID) as u8);
        Self {
            send_ccid,
            receive_ccid,
            sending: options.profile(send_ccid),
            receiving: options.profile(receive_ccid),
            we_send_vectors: local(Feature::SEND_ACK_VECTOR),
            peer_sends_vectors: remote(Feature::SEND_ACK_VECTOR),
            we_count: local(Feature::SEND_NDP_COUNT),
            peer_counts: remote(Feature::SEND_NDP_COUNT),
            we_repair: local(Feature::SEND_REPAIRS),
            peer_repairs: remote(Feature::SEND_REPAIRS),
            we_send_loss_event_rate: local(Feature::SEND_LOSS_EVENT_RATE),
            // Without nonces a receiver can hide marks (RFC 8311), and skipped numbers detect only
            // hidden losses. A verifying sender is therefore not ECN-capable.
            ect: options.ecn && !remote(Feature::ECN_INCAPABLE) && options.passed_over_interval == 0,
            can_receive_data: options.ecn || local(Feature::ECN_INCAPABLE),
            can_send_data: !(vectors_open || ccid_open || checksum_open || terms_open),
            send_coverage: if partial { options.send_coverage.max(peers_minimum) } else { 0 },
            minimum_coverage: value(Side::Local, Feature::MINIMUM_CHECKSUM_COVERAGE) as u8,
        }
    }
}

/// Sets the preferences that do not depend on a CCID, and the CCIDs.
pub(crate) fn set_initial(negotiation: &mut Negotiation, options: &ConnectionOptions) {
    for (side, ccids) in [(Side::Local, &options.send_ccids), (Side::Remote, &options.receive_ccids)] {
        let list = List::new(options.usable(ccids));
        // "If this is unacceptable ..., that endpoint MUST send Mandatory Change(CCID) options on
        // its first packets" (RFC 4340 section 10).
        let mandatory = !list.as_slice().contains(&Ccid::TCP_LIKE.0);
        if list.first().is_some() {
            negotiation.request(side, Feature::CCID, list, mandatory);
        }
    }
    let ecn = if options.ecn { List::new([0, 1]) } else { List::new([1]) };
    negotiation.request(Side::Local, Feature::ECN_INCAPABLE, ecn, !options.ecn);
    negotiation.accept(Side::Remote, Feature::ECN_INCAPABLE, List::new([0, 1]));
    negotiation.propose(Feature::SEQUENCE_WINDOW, options.sequence_window);
    let counts = if options.ndp_counts { List::new([1, 0]) } else { List::new([0, 1]) };
    negotiation.request(Side::Remote, Feature::SEND_NDP_COUNT, counts, false);
    negotiation.accept_in_peer_order(Side::Local, Feature::SEND_NDP_COUNT, List::new([0, 1]));
    if options.receive_repairs {
        negotiation.accept(Side::Remote, Feature::SEND_REPAIRS, List::new([1, 0]));
    }
    let accepted = match options.minimum_coverage {
        0 => List::new([0]),
        least => List::new(least..=15),
    };
    negotiation.accept(Side::Local, Feature::MINIMUM_CHECKSUM_COVERAGE, accepted);
    negotiation.request(Side::Remote, Feature::MINIMUM_CHECKSUM_COVERAGE, List::new(options.send_coverage..=15), false);
    let checks = if options.data_checksum { List::new([1]) } else { List::new([0, 1]) };
    negotiation.request(Side::Remote, Feature::CHECK_DATA_CHECKSUM, checks, options.data_checksum);
    negotiation.accept(Side::Local, Feature::CHECK_DATA_CHECKSUM, List::new([0, 1]));
    // A client requests these on its Request, before this endpoint knows the requirements of the CCIDs.
    for side in [Side::Local, Side::Remote] {
        negotiation.accept(side, Feature::SEND_ACK_VECTOR, List::new([0, 1]));
    }
    negotiation.accept_in_peer_order(Side::Local, Feature::SEND_LOSS_EVENT_RATE, List::new([0, 1]));
    negotiation.accept(Side::Remote, Feature::SEND_LOSS_EVENT_RATE, List::new([0, 1]));
    for (side, ccids) in [(Side::Local, &options.send_ccids), (Side::Remote, &options.receive_ccids)] {
        if let Some(terms) = options.usable(ccids).find_map(|ccid| terms_of(options, Ccid(ccid))) {
            negotiation.enable_terms();
            accept_rules(negotiation, side, &terms);
        }
    }
}

/// Returns the configured terms of a CCID's controller.
fn terms_of(options: &ConnectionOptions, ccid: Ccid) -> Option<Terms> {
    options.row(ccid)?.controller.terms()
}

/// Accepts the configured rules. With the initial rules, accepts all and follows the peer's choice.
fn accept_rules(negotiation: &mut Negotiation, side: Side, terms: &Terms) {
    if terms.rules == Terms::initial().rules {
        negotiation.accept_in_peer_order(side, Feature::SCALE_RULES, List::new(Terms::RULES));
    } else {
        negotiation.accept(side, Feature::SCALE_RULES, List::new([terms.rules]));
    }
}

/// Sets the preferences of the current CCIDs, or initially of the preferred ones.
pub(crate) fn set_for_ccids(negotiation: &mut Negotiation, options: &ConnectionOptions) {
    let half = |negotiation: &Negotiation, side, ccids| {
        let open = negotiation.is_changing(side, Feature::CCID);
        let preferred = if open { options.usable(ccids).next() } else { None };
        let ccid = Ccid(preferred.unwrap_or(negotiation.value(side, Feature::CCID) as u8));
        // Features of a CCID are safe after a Mandatory Change of it, or once it is settled (RFC 4340 section 10.3).
        let settled = !open || !options.usable(ccids).any(|ccid| Ccid(ccid) == Ccid::TCP_LIKE);
        (ccid, settled)
    };
    let needs_vectors = |ccid| options.row(ccid).is_some_and(|row| row.ack_vectors);
    let (sending, settled) = half(negotiation, Side::Local, &options.send_ccids);
    let (receiving, is_settled) = half(negotiation, Side::Remote, &options.receive_ccids);
    for (side, ccid) in [(Side::Remote, sending), (Side::Local, receiving)] {
        let needed = needs_vectors(ccid);
        let list = if needed { List::new([1]) } else { List::new([0, 1]) };
        negotiation.request(side, Feature::SEND_ACK_VECTOR, list, needed);
    }
    for (side, ccid, settled) in [(Side::Local, sending, settled), (Side::Remote, receiving, is_settled)] {
        if let Some(terms) = terms_of(options, ccid).filter(|_| settled) {
            negotiate_terms(negotiation, side, &terms);
        }
    }
    if let Some(feature) = options.profile(sending.0).loss_form_feature()
        && options.loss_event_rate
        && settled
    {
        negotiation.request(Side::Remote, feature, List::new([1, 0]), false);
    }
}

/// Negotiates terms: the sender decides the scales of its data, both endpoints choose the rules.
/// Initial terms need no negotiation.
fn negotiate_terms(negotiation: &mut Negotiation, side: Side, terms: &Terms) {
    if side == Side::Local {
        negotiation.propose_scales(&terms.scales);
    }
    if terms.rules != Terms::initial().rules {
        negotiation.request(side, Feature::SCALE_RULES, List::new([terms.rules]), true);
    }
}

/// Returns whether a half-connection has this feature, from 128 to 255: under its current CCID, or
/// one that may be negotiated.
pub(crate) fn has_ccid_feature(options: &ConnectionOptions, feature: Feature, ccid: u8, list: &[u8]) -> bool {
    let has_it = |ccid: u8| {
        if feature.is_of_terms() {
            options.row(Ccid(ccid)).is_some_and(|row| row.controller.has_terms())
        } else {
            options.profile(ccid).loss_form_feature() == Some(feature)
        }
    };
    has_it(ccid) || options.usable(list).any(has_it)
}
