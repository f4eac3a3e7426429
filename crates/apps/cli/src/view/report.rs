//! `headway report`: one HTML file with the page and the records.

use super::page;
use super::records::{FILES, Records};
use crate::arguments::ReportOptions;
use crate::error::Failure;
use crate::output;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use headway_run::Finding;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;

/// Maximum size of the record files in a report, in bytes. Browsers open such a page without delay.
const MAX_RECORD_SIZE: u64 = 48 << 20;

pub(crate) fn report(options: &ReportOptions) -> Result<(), Failure> {
    let file = output::Page::at(&options.out)?;
    let records = Records::open(&options.records)?;
    let page = match page::VIEWER {
        Some(viewer) => with(viewer, &data(&records, options)?)?,
        None => page::plain(&records)?,
    };
    file.write(&page, &options.out.display().to_string())
}

/// Returns the embedded data of the page: the files of the records and their findings.
fn data(records: &Records, options: &ReportOptions) -> Result<Value, Failure> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    for (number, (record, listed)) in records.iter().zip(records.list()).enumerate() {
        let mut files = Map::new();
        for name in FILES {
            let path = record.folder().path(name);
            let Some(file) = record.file(name).map_err(Failure::file("read", &path))? else { continue };
            let length = file.len();
            if options.without_packets && name.starts_with("packets.") {
                continue;
            }
            bytes += length;
            if bytes > MAX_RECORD_SIZE {
                let remedy = match (records.iter().count(), options.without_packets) {
                    (1, true) => "increase the interval of [record] series, or use `headway view`",
                    (1, false) => "set --without-packets",
                    (_, true) => "select fewer records",
                    (_, false) => "set --without-packets, or select fewer records",
                };
                let reason = format!("with {name} the report exceeds {} MiB; {remedy}", MAX_RECORD_SIZE >> 20);
                return Err(Failure::record(path, reason));
            }
            let mut content = Vec::new();
            let read = file.part(0, length).and_then(|mut file| file.read_to_end(&mut content));
            read.map_err(Failure::file("read", &path))?;
            files.insert(name.to_owned(), Value::String(STANDARD.encode(&content)));
        }
        let findings = serde_json::to_vec(&record.findings()?).map_err(|error| Failure::Output(error.into()))?;
        files.insert("findings.json".to_owned(), Value::String(STANDARD.encode(findings)));
        let listed = serde_json::to_value(listed).map_err(|error| Failure::Output(error.into()))?;
        all.push(json!({ "id": number.to_string(), "name": listed["name"], "files": files }));
    }
    let several: Vec<_> = records.iter().collect();
    let ids: Vec<String> = (0..several.len()).map(|number| number.to_string()).collect();
    let between = (several.len() > 1).then(|| records.findings(&several)).transpose()?.flatten();
    let between: BTreeMap<String, Vec<Finding>> = between.map(|found| (ids.join(","), found)).into_iter().collect();
    Ok(json!({ "records": all, "between": between }))
}

/// Inserts the data into the page. `<` is escaped, so that no text of a record can end the script element.
fn with(viewer: &str, data: &Value) -> Result<String, Failure> {
    let (head, tail) = viewer.split_once("<!--headway-data-->").ok_or_else(|| {
        Failure::Plot(
            "the viewer of this program has no placeholder for data; run `make viewer` and rebuild the program"
                .to_owned(),
        )
    })?;
    let data = data.to_string().replace('<', "\\u003c");
    Ok(format!("{head}<script type=\"application/json\" id=\"headway-data\">{data}</script>{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_the_script_element() {
        let page = with("<body><!--headway-data--><p></body>", &json!({ "name": "</script><b>" })).unwrap();
        assert!(page.ends_with(">{\"name\":\"\\u003c/script>\\u003cb>\"}</script><p></body>"), "{page}");
        assert!(with("no page", &json!({})).is_err());
    }

    /// `viewer/index.html` is what the build of the viewer begins with.
    #[test]
    fn the_page_begins_with_the_mark_of_headway() {
        let source = include_str!("../../../../../viewer/index.html");
        for page in page::VIEWER.into_iter().chain([source]) {
            let mark = page.find(output::PAGE_MARK).unwrap() as u64;
            assert!(mark < output::PAGE_HEAD, "the mark is at byte {mark}");
        }
    }
}
