//! qlog of connections over the wire in memory.

use super::*;
use crate::qlog::tests::{Folder, number_of};
use headway_dccp::Status;
use serde_json::Value;

/// Returns the packet numbers of all events with this name.
fn numbers(records: &[Value], name: &str) -> Vec<u64> {
    let events = records.iter().filter(|record| record["name"] == name);
    events.map(|event| event["data"]["header"]["packet_number"].as_u64().unwrap()).collect()
}

/// Both ends record each packet that the counters of their connection count (RFC 4340 section 8.5), each packet that an
/// Ack Vector reports as lost (section 11.4), and the end of the connection.
#[test]
fn files_agree_with_the_counters() {
    let (client_folder, server_folder) = (Folder::default(), Folder::default());
    let options = |folder: &Folder| Options { qlog: Some(folder.log()), ..Options::insecure() };
    let (client_options, server_options) = (options(&client_folder), options(&server_folder));
    // A server with a limit handles the end of a connection before it sends its Reset.
    let server_options = Options { accepted: Some(1), ..server_options };
    let (mut server, mut client) = (End::server(&server_options), End::new(2, &client_options));
    let (key, mailbox) = client.connect(at(0), &server);
    let (mut accepted, mut last): (_, [Option<Status>; 2]) = (None, [None; 2]);
    for ms in (0..4000).step_by(10) {
        // Between 1 and 2 s each tenth step is lost.
        let arrives = !(1000..2000).contains(&ms) || ms % 100 != 0;
        client.turn(at(ms));
        client.carry(at(ms), &mut server, arrives);
        server.turn(at(ms));
        server.carry(at(ms), &mut client, true);
        accepted = accepted.or_else(|| server.driver.accepts.with(|accepts| accepts.waiting.pop_front()));
        if ms < 3000 {
            client.driver.send_all(at(ms), key, &[Media::new(&[7; 1000])]);
        }
        if ms == 3500 {
            client.driver.close(key, at(ms));
        }
        let server_status = accepted.as_ref().and_then(|(key, ..)| server.driver.status(*key));
        last = [client.driver.status(key).or(last[0]), server_status.or(last[1])];
    }
    assert_eq!(mailbox.phase(), Phase::Over(Closed::Here));
    let [of_client, of_server] = last.map(|status| status.unwrap().counters);
    let (name, client_file) = client_folder.only(client_options.qlog.as_ref().unwrap());
    let (other, server_file) = server_folder.only(server_options.qlog.as_ref().unwrap());
    assert_eq!(name.strip_suffix(".client"), other.strip_suffix(".server"), "both have the name of the connection");
    let lost = numbers(&client_file, "recovery:packet_lost");
    assert!(of_client.lost_packets > 5 && lost.len() as u64 == of_client.lost_packets, "{of_client:?}: {lost:?}");
    for (file, sent, received) in [
        (&client_file, of_client.sent_packets, of_client.received_packets),
        // The last status of the server precedes the Close and the Reset.
        (&server_file, of_server.sent_packets + 1, of_server.received_packets + 1),
    ] {
        assert_eq!(number_of(file, "transport:packet_sent"), sent);
        assert_eq!(number_of(file, "transport:packet_received"), received);
        assert_eq!(number_of(file, "transport:packet_dropped"), 0);
        assert_eq!(number_of(file, "connectivity:connection_state_updated"), 1);
        assert_eq!(number_of(file, "connectivity:connection_closed"), 1);
        assert_eq!(number_of(file, "headway:events_dropped"), 0);
    }
    let arrived = numbers(&server_file, "transport:packet_received");
    let missing: Vec<u64> =
        numbers(&client_file, "transport:packet_sent").into_iter().filter(|number| !arrived.contains(number)).collect();
    let mut lost = lost;
    lost.sort_unstable();
    assert_eq!(lost, missing, "no packet is lost that arrived");
    assert!(number_of(&client_file, "recovery:metrics_updated") > 10);
}

/// A lost connection and the one that replaces it have a file each; attempts without an answer have none.
#[test]
fn each_connection_has_a_file_when_it_begins_again() {
    let folder = Folder::default();
    let options = Options { reconnect: true, qlog: Some(folder.log()), ..Options::insecure() };
    let (server_options, mut ms) = (Options::insecure(), 0);
    let (mut server, mut client) = (End::server(&server_options), End::new(2, &options));
    let (key, mailbox) = client.connect(at(0), &server);
    for up in [true, false, true] {
        for _ in 0..500 {
            client.turn(at(ms));
            client.carry(at(ms), &mut server, up);
            server.turn(at(ms));
            server.carry(at(ms), &mut client, up);
            client.driver.send_all(at(ms), key, &[Media::new(&[7; 100])]);
            ms += 10;
        }
    }
    assert_eq!(mailbox.phase(), Phase::Open);
    let files = folder.files(options.qlog.as_ref().unwrap());
    assert_eq!(files.len(), 2, "{:?}", files.keys());
    for file in files.values() {
        assert_eq!(number_of(file, "connectivity:connection_state_updated"), 1);
    }
    let closed: u64 = files.values().map(|file| number_of(file, "connectivity:connection_closed")).sum();
    assert_eq!(closed, 1);
}

/// Strangers that do not complete the handshake, and peers that are refused, create no files at a server.
#[test]
fn a_refused_connection_has_no_file() {
    let folder = Folder::default();
    let options = Options { accepted: Some(0), qlog: Some(folder.log()), ..Options::insecure() };
    let (mut server, mut client) = (End::server(&options), End::new(2, &Options::insecure()));
    let (_, mailbox) = client.connect(at(0), &server);
    for ms in (0..500).step_by(10) {
        client.turn(at(ms));
        client.carry(at(ms), &mut server, true);
        server.turn(at(ms));
        server.carry(at(ms), &mut client, true);
    }
    assert!(matches!(mailbox.phase(), Phase::Over(Closed::Reset(Reset { code: ResetCode::TOO_BUSY, .. }))));
    assert!(folder.files(options.qlog.as_ref().unwrap()).is_empty());
}
