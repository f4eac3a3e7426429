//! `shaper` of a `[[link]]`: delays transmissions above a rate.

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_link::{ShaperChange, ShaperOptions};
use headway_units::Bytes;

/// Maximum number of changes, as for a link.
const MAX_CHANGES: usize = 100_000;

/// Reads the shaper of a link with this MTU, if it is present.
pub(crate) fn read(table: &mut Open<'_, '_>, mtu: Option<Bytes>) -> Option<ShaperOptions> {
    let value = table.value("shaper")?;
    let path = table.path.key("shaper");
    let mut table = table.reader.open(value, &path, &VOCABULARY.shaper)?;
    let (rate, burst) = super::policer::bucket(&mut table, mtu);
    let changes: Vec<ShaperChange> = table.optional("changes").unwrap_or_default();
    if changes.len() > MAX_CHANGES {
        table.wrong("changes", format!("there are {} of them: expected {MAX_CHANGES} at most", changes.len()));
    }
    let options = ShaperOptions { rate: rate?, burst: burst?, changes };
    if let Err(error) = options.check(mtu) {
        table.wrong(error.key, error.message);
    }
    Some(options)
}
