//! `policer` of a `[[link]]`: drops packets above a rate before the queue.

use crate::limits::RATE_ALLOWED;
use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_link::{LARGEST_BURST, LARGEST_PACKET, PolicerOptions};
use headway_units::{Bytes, Rate};

/// Reads the policer of a link with this MTU, if it is present.
pub(crate) fn read(table: &mut Open<'_, '_>, mtu: Option<Bytes>) -> Option<PolicerOptions> {
    let value = table.value("policer")?;
    let path = table.path.key("policer");
    let mut table = table.reader.open(value, &path, &VOCABULARY.policer)?;
    let (rate, burst) = bucket(&mut table, mtu);
    let options = PolicerOptions { rate: rate?, burst: burst? };
    if let Err(error) = options.check(mtu) {
        table.wrong(error.key, error.message);
    }
    Some(options)
}

/// Reads the rate and the burst of a token bucket on a link with this MTU.
pub(crate) fn bucket(table: &mut Open<'_, '_>, mtu: Option<Bytes>) -> (Option<Rate>, Option<Bytes>) {
    for (key, example) in [("rate", "\"1Mbps\""), ("burst", "\"15kB\"")] {
        if table.value(key).is_none() {
            table.missing(key, example);
        }
    }
    let rate = table.within("rate", .., RATE_ALLOWED);
    let least = mtu.unwrap_or(LARGEST_PACKET);
    (rate, table.within("burst", .., &format!("from {least} to {LARGEST_BURST}")))
}
