//! `shaper` of a `[[link]]`: what delays transmissions for its rate.

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_link::ShaperOptions;
use headway_units::Bytes;

/// What is written of it in this table, if anything is, for a link with that MTU.
pub(crate) fn read(table: &mut Open<'_, '_>, mtu: Option<Bytes>) -> Option<ShaperOptions> {
    let value = table.value("shaper")?;
    let path = table.path.key("shaper");
    let mut table = table.reader.open(value, &path, &VOCABULARY.shaper)?;
    let (rate, burst) = (table.required("rate", "\"1Mbps\""), table.required("burst", "\"15kB\""));
    let options = ShaperOptions { rate: rate?, burst: burst? };
    if let Err(error) = options.check(mtu) {
        table.wrong(error.key, error.message);
    }
    Some(options)
}
