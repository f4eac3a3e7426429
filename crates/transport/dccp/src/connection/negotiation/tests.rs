//! Negotiations, an option at a time.

use super::*;

/// A client's negotiation after its handshake; packet 10 was its last.
fn client() -> Negotiation {
    Negotiation::new(false, Seq48::new(10))
}

/// What goes on the packet with this number.
fn write(negotiation: &mut Negotiation, seq: u64) -> (Written, String) {
    let mut buffer = [0; 200];
    let mut writer = OptionWriter::new(&mut buffer);
    let written = negotiation.write(&mut writer, Seq48::new(seq), false, true);
    let options = writer.finish().unwrap().iter().map(|option| option.unwrap().to_string());
    (written, options.filter(|option| option != "Padding").collect::<Vec<_>>().join(" "))
}

/// The peer's packet `seq` acknowledges `ack` and says this.
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

/// Section 6.6.5: "an endpoint that changes its preference list while in the CHANGING state MUST transition to the
/// UNSTABLE state": the Confirm of the old value is nothing to it, the new Change goes at once, and only a packet that
/// acknowledges that one confirms it (section 6.6.4).
#[test]
fn a_wish_that_changes_on_the_way() {
    let ratio = Feature::ACK_RATIO;
    let mut client = client();
    client.propose(ratio, 4);
    assert!(client.changes_due());
    let (written, said) = write(&mut client, 11);
    assert_eq!((written.new_changes, said.as_str()), (true, "ChangeL(AckRatio 4)"));
    assert!(!client.changes_due() && client.is_open());
    client.propose(ratio, 4);
    assert!(!client.changes_due(), "it is on its way");
    client.propose(ratio, 6);
    assert_eq!(receive(&mut client, 100, 11, FeatureAction::ConfirmR, ratio, &[0, 4]), Ok(false));
    let (written, said) = write(&mut client, 12);
    assert_eq!((written.new_changes, said.as_str()), (true, "ChangeL(AckRatio 6)"));
    assert_eq!(receive(&mut client, 101, 11, FeatureAction::ConfirmR, ratio, &[0, 4]), Ok(false));
    assert_eq!(receive(&mut client, 102, 12, FeatureAction::ConfirmR, ratio, &[0, 6]), Ok(true));
    assert_eq!((client.value(Side::Local, ratio), client.is_open()), (6, false));
    // Back to what it was: a new negotiation.
    client.propose(ratio, 6);
    assert!(!client.changes_due());
    client.propose(ratio, 2);
    assert!(client.changes_due());
}

/// The same with a list: what was agreed on the old one is asked for again.
#[test]
fn a_list_that_changes_on_the_way() {
    let counts = Feature::SEND_NDP_COUNT;
    let mut client = client();
    client.wish(Side::Remote, counts, List::new([1, 0]), false);
    assert_eq!(write(&mut client, 11).1, "ChangeR(SendNDPCount 1,0)");
    client.wish(Side::Remote, counts, List::new([1]), false);
    assert_eq!(receive(&mut client, 100, 11, FeatureAction::ConfirmL, counts, &[0, 0]), Ok(false));
    assert_eq!(write(&mut client, 12).1, "ChangeR(SendNDPCount 1)");
    assert_eq!(receive(&mut client, 101, 12, FeatureAction::ConfirmL, counts, &[1, 1]), Ok(true));
    client.wish(Side::Remote, counts, List::new([1]), false);
    assert!(!client.changes_due(), "it is so already");
    client.wish(Side::Remote, counts, List::new([0]), false);
    assert_eq!(write(&mut client, 13).1, "ChangeR(SendNDPCount 0)");
}

/// Section 6.6.3: a repetition is the same, and no new Change.
#[test]
fn a_repetition() {
    let mut client = client();
    client.propose(Feature::SEQUENCE_WINDOW, 1000);
    let first = write(&mut client, 11);
    assert_eq!(write(&mut client, 12), (Written { complete: true, ..Written::default() }, String::new()));
    client.retransmit();
    let again = write(&mut client, 13);
    assert_eq!((first.1.as_str(), first.1 == again.1), ("ChangeL(SequenceWindow 1000)", true));
    assert_eq!((first.0.new_changes, again.0.new_changes, again.0.changes), (true, false, true));
    // Whoever acknowledges the first one has seen it.
    let thousand = [0, 0, 0, 0, 3, 232];
    assert_eq!(receive(&mut client, 100, 11, FeatureAction::ConfirmR, Feature::SEQUENCE_WINDOW, &thousand), Ok(true));
    client.retransmit();
    assert!(!client.changes_due());
}

/// What finds no room goes with the next packet.
#[test]
fn options_without_room() {
    let mut client = client();
    client.propose(Feature::SEQUENCE_WINDOW, 1000);
    client.propose(Feature::ACK_RATIO, 4);
    let mut buffer = [0; 12];
    let mut writer = OptionWriter::new(&mut buffer);
    let written = client.write(&mut writer, Seq48::new(11), false, true);
    assert!(written.changes && !written.complete && client.changes_due());
    // 9 and 5 bytes are all that is needed.
    let mut buffer = [0; 14];
    let mut writer = OptionWriter::new(&mut buffer);
    let written = client.write(&mut writer, Seq48::new(12), false, true);
    assert!(written.complete && writer.len() == 14 && !client.changes_due());
    client.retransmit();
    assert_eq!(write(&mut client, 13).1, "ChangeL(SequenceWindow 1000) ChangeL(AckRatio 4)");
}

/// Sections 6.6.7 and 6.6.8: so many empty Confirms wait, none of them twice.
#[test]
fn empty_confirms_are_bounded() {
    let mut client = client();
    for round in 0..2 {
        (0..100).for_each(|number| client.owe_empty(FeatureAction::ConfirmR, Feature(number)));
        assert_eq!(client.empty.len(), MAX_EMPTY, "{round}");
    }
    assert_eq!(client.response_len(), 3 * MAX_EMPTY);
    let mut buffer = [0; 200];
    let mut writer = OptionWriter::new(&mut buffer);
    client.propose(Feature::ACK_RATIO, 4);
    let written = client.write(&mut writer, Seq48::new(10), false, false);
    assert_eq!((written.confirms, writer.len()), (false, 5), "none on a packet without an acknowledgement number");
    let (written, said) = write(&mut client, 11);
    assert_eq!((written.confirms, said.split(' ').count()), (true, 2 * MAX_EMPTY));
    client.confirms_are_sent();
    assert_eq!(write(&mut client, 12).1, "");
}

/// What an Init Cookie keeps (section 8.1.4) is what is not as at first, and a Response says in as many bytes as were
/// reckoned.
#[test]
fn a_cookie_keeps_what_differs() {
    let mut server = Negotiation::new(true, Seq48::new(10));
    server.wish(Side::Local, Feature::SEND_NDP_COUNT, List::new([1, 0]), true);
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
    again.wish(Side::Local, Feature::SEND_NDP_COUNT, List::new([1, 0]), true);
    let changing = again.restore(&kept).unwrap();
    again.resume(changing, Seq48::new(100), Seq48::new(11));
    assert_eq!(again.value(Side::Remote, Feature::SEQUENCE_WINDOW), 512);
    assert!(again.is_changing(Side::Local, Feature::SEND_NDP_COUNT) && !again.changes_due());
    assert!(!again.is_changing(Side::Remote, Feature::SEND_NDP_COUNT));
    assert!(!again.is_in_order(Seq48::new(100)) && again.is_in_order(Seq48::new(101)));
    let confirm = FeatureAction::ConfirmR;
    assert_eq!(receive(&mut again, 101, 10, confirm, Feature::SEND_NDP_COUNT, &[1, 1]), Ok(false), "of no Response");
    assert_eq!(receive(&mut again, 102, 11, confirm, Feature::SEND_NDP_COUNT, &[1, 1]), Ok(true));
    // What the Response had no room for is asked for now, unless it was Mandatory, which had to be there.
    for (mandatory, due) in [(false, true), (true, false)] {
        let mut later = Negotiation::new(true, Seq48::new(10));
        later.wish(Side::Local, Feature::SEND_NDP_COUNT, List::new([1, 0]), mandatory);
        later.resume(0, Seq48::new(100), Seq48::new(11));
        assert_eq!(later.changes_due(), due);
    }
    assert_eq!(again.restore(&[5, 0, 0]), None);
    assert_eq!(again.restore(&[127]), None);
}
