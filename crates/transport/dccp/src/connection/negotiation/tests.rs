use super::*;

fn client() -> Negotiation {
    Negotiation::new(false, Seq48::new(10))
}

fn write(negotiation: &mut Negotiation, seq: u64) -> (Written, String) {
    let mut buffer = [0; 200];
    let mut writer = OptionWriter::new(&mut buffer);
    let written = negotiation.write(&mut writer, Seq48::new(seq), false, true);
    let options = writer.finish().unwrap().iter().map(|option| option.unwrap().to_string());
    (written, options.filter(|option| option != "Padding").collect::<Vec<_>>().join(" "))
}

/// Processes an option of the peer's packet `seq`, which acknowledges `ack`.
fn receive(
    negotiation: &mut Negotiation,
    seq: u64,
    ack: u64,
    action: FeatureAction,
    feature: Feature,
    values: &[u8],
) -> Result<bool, OptionFault> {
    let arrived = Arrived { seq: Seq48::new(seq), ack: Some(Seq48::new(ack)), ccids_are_frozen: false };
    let changed = negotiation.receive(&FeatureOption { action, feature, values }, false, arrived, true);
    negotiation.end_packet(Seq48::new(seq));
    changed
}

/// Section 6.6.5: "an endpoint that changes its preference list while in the CHANGING state MUST
/// transition to the UNSTABLE state". The Confirm of the old value is ignored, the new Change is
/// sent at once, and only a packet that acknowledges it can confirm it (section 6.6.4).
#[test]
fn a_value_that_changes_in_changing_is_sent_again() {
    let ratio = Feature::ACK_RATIO;
    let mut client = client();
    client.propose(ratio, 4);
    assert!(client.changes_due());
    let (written, options) = write(&mut client, 11);
    assert_eq!((written.new_changes, options.as_str()), (true, "ChangeL(AckRatio 4)"));
    assert!(!client.changes_due() && client.is_open());
    client.propose(ratio, 4);
    assert!(!client.changes_due(), "the Change is outstanding");
    client.propose(ratio, 6);
    assert_eq!(receive(&mut client, 100, 11, FeatureAction::ConfirmR, ratio, &[0, 4]), Ok(false));
    let (written, options) = write(&mut client, 12);
    assert_eq!((written.new_changes, options.as_str()), (true, "ChangeL(AckRatio 6)"));
    assert_eq!(receive(&mut client, 101, 11, FeatureAction::ConfirmR, ratio, &[0, 4]), Ok(false));
    assert_eq!(receive(&mut client, 102, 12, FeatureAction::ConfirmR, ratio, &[0, 6]), Ok(true));
    assert_eq!((client.value(Side::Local, ratio), client.is_open()), (6, false));
    // Proposing the initial value again starts a new negotiation.
    client.propose(ratio, 6);
    assert!(!client.changes_due());
    client.propose(ratio, 2);
    assert!(client.changes_due());
}

/// A list that changes in CHANGING is negotiated again.
#[test]
fn a_list_that_changes_in_changing_is_negotiated_again() {
    let counts = Feature::SEND_NDP_COUNT;
    let mut client = client();
    client.request(Side::Remote, counts, List::new([1, 0]), false);
    assert_eq!(write(&mut client, 11).1, "ChangeR(SendNDPCount 1,0)");
    client.request(Side::Remote, counts, List::new([1]), false);
    assert_eq!(receive(&mut client, 100, 11, FeatureAction::ConfirmL, counts, &[0, 0]), Ok(false));
    assert_eq!(write(&mut client, 12).1, "ChangeR(SendNDPCount 1)");
    assert_eq!(receive(&mut client, 101, 12, FeatureAction::ConfirmL, counts, &[1, 1]), Ok(true));
    client.request(Side::Remote, counts, List::new([1]), false);
    assert!(!client.changes_due(), "the value is current");
    client.request(Side::Remote, counts, List::new([0]), false);
    assert_eq!(write(&mut client, 13).1, "ChangeR(SendNDPCount 0)");
}

/// Section 6.6.3: a retransmitted Change is identical, and is not a new Change.
#[test]
fn a_retransmitted_change_is_identical() {
    let mut client = client();
    client.propose(Feature::SEQUENCE_WINDOW, 1000);
    let first = write(&mut client, 11);
    assert_eq!(write(&mut client, 12), (Written { complete: true, ..Written::default() }, String::new()));
    client.retransmit();
    let again = write(&mut client, 13);
    assert_eq!((first.1.as_str(), first.1 == again.1), ("ChangeL(SequenceWindow 1000)", true));
    assert_eq!((first.0.new_changes, again.0.new_changes, again.0.changes), (true, false, true));
    // A Confirm that acknowledges the first Change is valid.
    let thousand = [0, 0, 0, 0, 3, 232];
    assert_eq!(receive(&mut client, 100, 11, FeatureAction::ConfirmR, Feature::SEQUENCE_WINDOW, &thousand), Ok(true));
    client.retransmit();
    assert!(!client.changes_due());
}

/// Options that do not fit are sent on the next packet.
#[test]
fn options_that_do_not_fit_are_sent_later() {
    let mut client = client();
    client.propose(Feature::SEQUENCE_WINDOW, 1000);
    client.propose(Feature::ACK_RATIO, 4);
    let mut buffer = [0; 12];
    let mut writer = OptionWriter::new(&mut buffer);
    let written = client.write(&mut writer, Seq48::new(11), false, true);
    assert!(written.changes && !written.complete && client.changes_due());
    // 9 and 5 bytes are needed.
    let mut buffer = [0; 14];
    let mut writer = OptionWriter::new(&mut buffer);
    let written = client.write(&mut writer, Seq48::new(12), false, true);
    assert!(written.complete && writer.len() == 14 && !client.changes_due());
    client.retransmit();
    assert_eq!(write(&mut client, 13).1, "ChangeL(SequenceWindow 1000) ChangeL(AckRatio 4)");
}

/// Sections 6.6.7 and 6.6.8: the queue of empty Confirms is bounded and has no duplicates.
#[test]
fn empty_confirms_are_bounded() {
    let mut client = client();
    for round in 0..2 {
        (0..100).for_each(|number| client.queue_empty_confirm(FeatureAction::ConfirmR, Feature(number)));
        assert_eq!(client.empty.len(), MAX_EMPTY, "{round}");
    }
    assert_eq!(client.response_len(), 3 * MAX_EMPTY);
    let mut buffer = [0; 200];
    let mut writer = OptionWriter::new(&mut buffer);
    client.propose(Feature::ACK_RATIO, 4);
    let written = client.write(&mut writer, Seq48::new(10), false, false);
    assert_eq!((written.confirms, writer.len()), (false, 5), "none on a packet without an acknowledgement number");
    let (written, options) = write(&mut client, 11);
    assert_eq!((written.confirms, options.split(' ').count()), (true, 2 * MAX_EMPTY));
    client.confirms_are_sent();
    assert_eq!(write(&mut client, 12).1, "");
}

/// An Init Cookie stores only features that differ from their initial values (section 8.1.4). The
/// Response has the computed length.
#[test]
fn a_cookie_stores_changed_features() {
    let mut server = Negotiation::new(true, Seq48::new(10));
    server.request(Side::Local, Feature::SEND_NDP_COUNT, List::new([1, 0]), true);
    let change = FeatureAction::ChangeL;
    receive(&mut server, 100, 9, change, Feature::SEQUENCE_WINDOW, &[0, 0, 0, 0, 2, 0]).unwrap();
    let reckoned = server.response_len();
    let mut buffer = [0; 200];
    let mut writer = OptionWriter::new(&mut buffer);
    server.write(&mut writer, Seq48::new(11), true, true);
    assert_eq!(reckoned, writer.len());
    let mut kept = Vec::new();
    server.save(&mut kept);
    assert_eq!(kept, [5, 0, 0, 0, 0, 2, 0, 128 | 12, 0]);
    let mut again = Negotiation::new(true, Seq48::new(10));
    again.request(Side::Local, Feature::SEND_NDP_COUNT, List::new([1, 0]), true);
    let changing = again.restore(&kept).unwrap();
    again.resume(changing, Seq48::new(100), Seq48::new(11));
    assert_eq!(again.value(Side::Remote, Feature::SEQUENCE_WINDOW), 512);
    assert!(again.is_changing(Side::Local, Feature::SEND_NDP_COUNT) && !again.changes_due());
    assert!(!again.is_changing(Side::Remote, Feature::SEND_NDP_COUNT));
    assert!(!again.is_in_order(Seq48::new(100)) && again.is_in_order(Seq48::new(101)));
    let confirm = FeatureAction::ConfirmR;
    assert_eq!(
        receive(&mut again, 101, 10, confirm, Feature::SEND_NDP_COUNT, &[1, 1]),
        Ok(false),
        "acknowledges an earlier packet"
    );
    assert_eq!(receive(&mut again, 102, 11, confirm, Feature::SEND_NDP_COUNT, &[1, 1]), Ok(true));
    // Changes that did not fit on the Response are sent now. Mandatory ones were on it.
    for (mandatory, due) in [(false, true), (true, false)] {
        let mut later = Negotiation::new(true, Seq48::new(10));
        later.request(Side::Local, Feature::SEND_NDP_COUNT, List::new([1, 0]), mandatory);
        later.resume(0, Seq48::new(100), Seq48::new(11));
        assert_eq!(later.changes_due(), due);
    }
    assert_eq!(again.restore(&[5, 0, 0]), None);
    assert_eq!(again.restore(&[127]), None);
}
