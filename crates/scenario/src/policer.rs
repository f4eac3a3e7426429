//! `policer` of a `[[link]]`: what is dropped before the queue for its rate.

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_link::PolicerOptions;
use headway_units::Bytes;

/// What is written of it in this table, if anything is, for a link with that MTU.
pub(crate) fn read(table: &mut Open<'_, '_>, mtu: Option<Bytes>) -> Option<PolicerOptions> {
    let value = table.value("policer")?;
    let path = table.path.key("policer");
    let mut table = table.reader.open(value, &path, &VOCABULARY.policer)?;
    let (rate, burst) = (table.required("rate", "\"1Mbps\""), table.required("burst", "\"15kB\""));
    let options = PolicerOptions { rate: rate?, burst: burst? };
    if let Err(error) = options.check(mtu) {
        table.wrong(error.key, error.message);
    }
    Some(options)
}
