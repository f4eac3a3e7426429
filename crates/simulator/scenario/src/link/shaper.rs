//! `shaper` of a `[[link]]`: delays transmissions above a rate.

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_link::{ShaperChange, ShaperOptions};
use headway_units::Bytes;

/// As many as a link may have.
const MOST_CHANGES: usize = 100_000;

/// What is written of it in this table, if anything is, for a link with that MTU.
pub(crate) fn read(table: &mut Open<'_, '_>, mtu: Option<Bytes>) -> Option<ShaperOptions> {
    let value = table.value("shaper")?;
    let path = table.path.key("shaper");
    let mut table = table.reader.open(value, &path, &VOCABULARY.shaper)?;
    let (rate, burst) = super::policer::bucket(&mut table, mtu);
    let changes: Vec<ShaperChange> = table.optional("changes").unwrap_or_default();
    if changes.len() > MOST_CHANGES {
        table.wrong("changes", format!("there are {} of them: expected {MOST_CHANGES} at most", changes.len()));
    }
    let options = ShaperOptions { rate: rate?, burst: burst?, changes };
    if let Err(error) = options.check(mtu) {
        table.wrong(error.key, error.message);
    }
    Some(options)
}
