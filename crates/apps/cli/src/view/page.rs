//! The HTML page: the viewer, or tables and charts if the program was built without the viewer.

use super::records::Records;
use crate::error::Failure;
use crate::plot::read;
use headway_record::plot::{Run, Style, figures};
use headway_record::{Summary, flow_table, link_table};
use headway_run::Folder;

// `pub(super) const VIEWER: Option<&str>`: contents of `viewer/dist/index.html` at build time.
include!(concat!(env!("OUT_DIR"), "/viewer.rs"));

/// Content security policy of the plain page: no scripts and no external resources.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Returns a page without scripts, with the tables of `headway run` and the charts of `headway plot`.
pub(super) fn plain(records: &Records) -> Result<String, Failure> {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Headway</title>\
         <style>body{{font:16px/1.4 system-ui,sans-serif;margin:1rem auto;max-width:62rem;padding:0 1rem}}\
         pre{{overflow-x:auto;font-size:13px}}svg{{max-width:100%;height:auto;background:#fff}}</style>\
         <p>This program was built without the viewer. Run <code>make viewer</code> and rebuild it for interactive charts.</p>"
    );
    let mut all = Vec::new();
    for record in records.iter() {
        let summary = record.folder().read(Folder::SUMMARY)?;
        let wrong = |why: String| Failure::record(record.folder().path(Folder::SUMMARY), why);
        let text = String::from_utf8_lossy(&summary);
        let summary = Summary::from_json(&text).map_err(|error| wrong(error.to_string()))?;
        let tables = format!("{}\n{}", flow_table(&summary), link_table(&summary));
        page.push_str(&format!("<h2>{}</h2><pre>{}</pre>", escaped(&record.label), escaped(&tables)));
        if record.folder().path(Folder::SERIES).exists() {
            all.push((record.label.clone(), read(record.folder())?));
        }
    }
    let runs: Vec<_> =
        all.iter().map(|(label, (series, interval))| Run { label, series, interval: *interval }).collect();
    let drawn = figures(&runs, &Style::default()).map_err(|error| Failure::Plot(error.to_string()))?;
    drawn.iter().for_each(|figure| page.push_str(&figure.svg));
    page.push_str("</html>\n");
    Ok(page)
}

/// Escapes text for HTML.
pub(super) fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut safe, c| {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_has_no_markup() {
        assert_eq!(escaped("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
    }
}
