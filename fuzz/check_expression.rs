//! Invariants of the text of a metric that is evaluated on a record: it gives a finite number, no value, or an error
//! message. Shared by the fuzz target and the test that replays `fuzz/corpus`.

use headway_record::{Expression, Numbers, Summary};

const RECORD: &str = r#"{
    "version": "0", "name": "x", "seed": 1, "complete": true, "interval": { "from": 0.0, "to": 9.0 },
    "flows": [], "links": [], "jain_index": null, "packet_hops": 7, "fingerprint": "0"
}"#;

pub(crate) fn check(bytes: &[u8]) {
    let text = &String::from_utf8_lossy(bytes);
    let Ok(summary) = Summary::from_json(RECORD) else { panic!("the record cannot be read") };
    let found = text.parse::<Expression>().and_then(|expression| {
        assert_eq!(expression.to_string().parse().as_ref(), Ok(&expression), "as it is printed, so it is read");
        expression.evaluate(&Numbers::new(&summary))
    });
    match found {
        Ok(value) => assert!(value.is_none_or(f64::is_finite)),
        Err(error) => {
            let error = error.to_string();
            assert!(!error.is_empty() && error.len() < 9_000, "{}", error.len());
        }
    }
}
