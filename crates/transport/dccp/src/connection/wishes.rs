//! What this end would have each feature be: the options, and what the CCIDs need (RFC 4341 section 4, RFC 4342 section 8.4).

use super::feature_slot::{List, Side};
use super::negotiation::Negotiation;
use super::options::ConnectionOptions;
use crate::ccid::Room;
use crate::feature::{Ccid, Feature};
use headway_rate::Terms;

/// What holds of the features, ready for the path of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// The CCID of our data, and of the peer's.
    pub(crate) send_ccid: u8,
    pub(crate) receive_ccid: u8,
    /// How their receivers report.
    pub(crate) sending: Room,
    pub(crate) receiving: Room,
    /// We send Ack Vectors; the peer does.
    pub(crate) we_send_vectors: bool,
    pub(crate) peer_sends_vectors: bool,
    /// We send NDP Counts; the peer does.
    pub(crate) we_count: bool,
    pub(crate) peer_counts: bool,
    /// We report a Loss Event Rate; otherwise Loss Intervals.
    pub(crate) we_send_loss_event_rate: bool,
    /// Our packets may be marked instead of dropped.
    pub(crate) ect: bool,
    /// Data may come: the peer knows that we cannot read ECN, if we cannot.
    pub(crate) data_may_come: bool,
    /// Data may go: nothing that its CCID needs is still open (RFC 4341 section 4).
    pub(crate) data_may_go: bool,
    /// CsCov of our data, 0 to 15.
    pub(crate) send_coverage: u8,
    /// The least CsCov of the peer's data that we accept, 0 for full coverage only.
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
            sending: options.room(send_ccid),
            receiving: options.room(receive_ccid),
            we_send_vectors: local(Feature::SEND_ACK_VECTOR),
            peer_sends_vectors: remote(Feature::SEND_ACK_VECTOR),
            we_count: local(Feature::SEND_NDP_COUNT),
            peer_counts: remote(Feature::SEND_NDP_COUNT),
            we_send_loss_event_rate: local(Feature::SEND_LOSS_EVENT_RATE),
            // Marks could be hidden since there are no nonces (RFC 8311); losses are told from what never went. So who verifies
            // sends what routers drop.
            ect: options.ecn && !remote(Feature::ECN_INCAPABLE) && options.passed_over_interval == 0,
            data_may_come: options.ecn || local(Feature::ECN_INCAPABLE),
            data_may_go: !(vectors_open || ccid_open || checksum_open || terms_open),
            send_coverage: if partial { options.send_coverage.max(peers_minimum) } else { 0 },
            minimum_coverage: value(Side::Local, Feature::MINIMUM_CHECKSUM_COVERAGE) as u8,
        }
    }
}

/// The preferences that do not depend on a CCID, and the CCIDs.
pub(crate) fn at_first(negotiation: &mut Negotiation, options: &ConnectionOptions) {
    for (side, ccids) in [(Side::Local, &options.send_ccids), (Side::Remote, &options.receive_ccids)] {
        let list = List::new(options.usable(ccids));
        // "If this is unacceptable ..., that endpoint MUST send Mandatory Change(CCID) options on its first packets"
        // (RFC 4340 section 10).
        let mandatory = !list.as_slice().contains(&Ccid::TCP_LIKE.0);
        if list.first().is_some() {
            negotiation.wish(side, Feature::CCID, list, mandatory);
        }
    }
    let ecn = if options.ecn { List::new([0, 1]) } else { List::new([1]) };
    negotiation.wish(Side::Local, Feature::ECN_INCAPABLE, ecn, !options.ecn);
    negotiation.accept(Side::Remote, Feature::ECN_INCAPABLE, List::new([0, 1]));
    negotiation.propose(Feature::SEQUENCE_WINDOW, options.sequence_window);
    let counts = if options.ndp_counts { List::new([1, 0]) } else { List::new([0, 1]) };
    negotiation.wish(Side::Remote, Feature::SEND_NDP_COUNT, counts, false);
    negotiation.leave(Side::Local, Feature::SEND_NDP_COUNT, List::new([0, 1]));
    let accepted = match options.minimum_coverage {
        0 => List::new([0]),
        least => List::new(least..=15),
    };
    negotiation.accept(Side::Local, Feature::MINIMUM_CHECKSUM_COVERAGE, accepted);
    negotiation.wish(Side::Remote, Feature::MINIMUM_CHECKSUM_COVERAGE, List::new(options.send_coverage..=15), false);
    let checks = if options.data_checksum { List::new([1]) } else { List::new([0, 1]) };
    negotiation.wish(Side::Remote, Feature::CHECK_DATA_CHECKSUM, checks, options.data_checksum);
    negotiation.accept(Side::Local, Feature::CHECK_DATA_CHECKSUM, List::new([0, 1]));
    // A client asks for these on its Request, before this end knows what its own CCIDs need.
    for side in [Side::Local, Side::Remote] {
        negotiation.accept(side, Feature::SEND_ACK_VECTOR, List::new([0, 1]));
    }
    negotiation.leave(Side::Local, Feature::SEND_LOSS_EVENT_RATE, List::new([0, 1]));
    negotiation.accept(Side::Remote, Feature::SEND_LOSS_EVENT_RATE, List::new([0, 1]));
    for (side, ccids) in [(Side::Local, &options.send_ccids), (Side::Remote, &options.receive_ccids)] {
        if let Some(terms) = options.usable(ccids).find_map(|ccid| terms_of(options, Ccid(ccid))) {
            negotiation.know_terms();
            accept_rules(negotiation, side, &terms);
        }
    }
}

/// What the halves of a CCID's controller agree on, as this end would have it.
fn terms_of(options: &ConnectionOptions, ccid: Ccid) -> Option<Terms> {
    options.row(ccid)?.controller.terms()
}

/// Accepts the rules that this end was configured with; an end with the initial rules accepts all, and leaves the choice to the peer.
fn accept_rules(negotiation: &mut Negotiation, side: Side, terms: &Terms) {
    if terms.rules == Terms::initial().rules {
        negotiation.leave(side, Feature::SCALE_RULES, List::new(Terms::RULES));
    } else {
        negotiation.accept(side, Feature::SCALE_RULES, List::new([terms.rules]));
    }
}

/// What the CCIDs need: those in force, or at the very beginning the preferred ones.
pub(crate) fn for_ccids(negotiation: &mut Negotiation, options: &ConnectionOptions) {
    let half = |negotiation: &Negotiation, side, ccids| {
        let open = negotiation.is_changing(side, Feature::CCID);
        let preferred = if open { options.usable(ccids).next() } else { None };
        let ccid = Ccid(preferred.unwrap_or(negotiation.value(side, Feature::CCID) as u8));
        // Features of a CCID are safe behind a Mandatory Change of it, or once it is settled (RFC 4340 section 10.3).
        let settled = !open || !options.usable(ccids).any(|ccid| Ccid(ccid) == Ccid::TCP_LIKE);
        (ccid, settled)
    };
    let needs_vectors = |ccid| options.row(ccid).is_some_and(|row| row.ack_vectors);
    let (sending, settled) = half(negotiation, Side::Local, &options.send_ccids);
    let (receiving, is_settled) = half(negotiation, Side::Remote, &options.receive_ccids);
    for (side, ccid) in [(Side::Remote, sending), (Side::Local, receiving)] {
        let needed = needs_vectors(ccid);
        let list = if needed { List::new([1]) } else { List::new([0, 1]) };
        negotiation.wish(side, Feature::SEND_ACK_VECTOR, list, needed);
    }
    for (side, ccid, settled) in [(Side::Local, sending, settled), (Side::Remote, receiving, is_settled)] {
        if let Some(terms) = terms_of(options, ccid).filter(|_| settled) {
            wish_for_terms(negotiation, side, &terms);
        }
    }
    if let Some(feature) = options.room(sending.0).loss_form_feature()
        && options.loss_event_rate
        && settled
    {
        negotiation.wish(Side::Remote, feature, List::new([1, 0]), false);
    }
}

/// The sender decides the scales of its data; both ends choose the rules. Initial terms need no negotiation.
fn wish_for_terms(negotiation: &mut Negotiation, side: Side, terms: &Terms) {
    if side == Side::Local {
        negotiation.propose_scales(&terms.scales);
    }
    if terms.rules != Terms::initial().rules {
        negotiation.wish(side, Feature::SCALE_RULES, List::new([terms.rules]), true);
    }
}

/// Whether a feature from 128 to 255 means something to a half-connection: under a CCID that has it, or if such a CCID may come.
pub(crate) fn knows_ccid_feature(options: &ConnectionOptions, feature: Feature, ccid: u8, list: &[u8]) -> bool {
    let has_it = |ccid: u8| {
        if feature.is_of_terms() {
            options.row(Ccid(ccid)).is_some_and(|row| row.controller.has_terms())
        } else {
            options.room(ccid).loss_form_feature() == Some(feature)
        }
    };
    has_it(ccid) || options.usable(list).any(has_it)
}
