//! Tests of `--qlog` of `headway send`, `recv` and `relay`.

use crate::common::{headway, text};
use crate::sockets::{Receiver, bytes, last, succeeded};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the records of the files in a folder, by name. Each record is JSON between a record separator and a line feed
/// (RFC 7464 section 2.2).
fn files(folder: &Path) -> BTreeMap<String, Vec<Value>> {
    let records = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        let records = text.strip_prefix('\u{1e}').unwrap().split('\u{1e}');
        records.map(|record| serde_json::from_str(record.strip_suffix('\n').unwrap()).unwrap()).collect()
    };
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), records(&path))).collect()
}

fn number_of(records: &[Value], name: &str) -> usize {
    records.iter().filter(|record| record["name"] == name).count()
}

/// Returns the numbers of the packets with a datagram in the events with this name.
fn with_datagram(records: &[Value], name: &str) -> Vec<u64> {
    let has_datagram = |event: &&Value| {
        let frames = event["data"]["frames"].as_array().unwrap();
        event["name"] == name && frames.iter().any(|frame| frame["frame_type"] == "datagram")
    };
    let packets = records[1..].iter().filter(|event| event["data"]["frames"].is_array()).filter(has_datagram);
    packets.map(|event| event["data"]["header"]["packet_number"].as_u64().unwrap()).collect()
}

/// The files of both ends have the same name but for the end, contain each packet that the reports count, and are
/// complete when the commands end.
#[test]
fn both_ends_record_the_packets_of_a_file() {
    for security in [&[][..], &["--insecure"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("file"), bytes(100_001)).unwrap();
        let qlog = folder.path().join("new/qlog");
        let log = ["--qlog", qlog.to_str().unwrap()];
        let receiver = Receiver::new(&[&["--once"], &log[..], security].concat());
        let sender = receiver.sender(&["--file", &path("file")]).args(log).output().unwrap();
        let sent = last(&succeeded(&sender));
        let (status, lines, messages) = receiver.end(None);
        assert_eq!((status, messages.as_str()), (Some(0), ""));
        let received = last(&lines);

        let files = files(&qlog);
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let [client, server] = names[..] else { panic!("{names:?}") };
        assert_eq!(client.strip_suffix(".client.sqlog").unwrap(), server.strip_suffix(".server.sqlog").unwrap());
        for (name, role) in [(client, "client"), (server, "server")] {
            let records = &files[name];
            assert_eq!((&records[0]["qlog_version"], &records[0]["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
            assert_eq!(records[0]["trace"]["vantage_point"]["type"], role);
            let times: Vec<f64> = records[1..].iter().map(|event| event["time"].as_f64().unwrap()).collect();
            assert!(times.is_sorted() && times[0] >= 0.0, "{times:?}");
            for (event, number) in [
                ("connectivity:connection_started", 1),
                ("connectivity:connection_state_updated", 1),
                ("connectivity:connection_closed", 1),
                ("headway:events_dropped", 0),
                ("headway:datagram_dropped", 0),
            ] {
                assert_eq!(number_of(records, event), number, "{name}: {event}");
            }
        }
        let data = with_datagram(&files[client], "transport:packet_sent");
        assert_eq!(sent["sent_packets"], data.len());
        assert_eq!(received["received_packets"], data.len());
        assert_eq!(with_datagram(&files[server], "transport:packet_received"), data);
        assert_eq!(sent["lost_packets"]["channel"], number_of(&files[client], "recovery:packet_lost"));
        assert!(number_of(&files[client], "recovery:metrics_updated") > 0);
    }
}

#[test]
fn a_folder_that_cannot_be_created_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = file.path().join("qlog").display().to_string();
    let output = headway(&["recv", "127.0.0.1:0", "--qlog", &folder]).output().unwrap();
    let messages = text(&output.stderr);
    let expected = format!("headway: --qlog: cannot create the folder {folder}: ");
    assert!(output.status.code() == Some(1) && messages.starts_with(&expected), "{messages}");
}

/// A full disk ends no connection.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_is_a_warning() {
    // No file can be created there.
    let log = ["--qlog", "/proc/self"];
    let receiver = Receiver::new(&[&["--once", "--insecure"], &log[..]].concat());
    let sender = receiver.sender(&["--model", "kind = \"ftp\", segments = 3"]).args(log).output().unwrap();
    let (status, lines, messages) = receiver.end(None);
    assert_eq!((sender.status.code(), status, &last(&lines)["received_packets"]), (Some(0), Some(0), &3.into()));
    for warning in [text(&sender.stderr), messages] {
        let expected = "warning: --qlog: cannot write the qlog file /proc/self/";
        assert!(warning.starts_with(expected) && warning.lines().count() == 1, "{warning}");
    }
}
