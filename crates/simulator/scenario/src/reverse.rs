//! `reverse` of a `[[link]]`: what is otherwise on the way back.

use crate::document::Data;
use crate::reader::Open;
use crate::tables::{Instead, ReverseTable};
use crate::vocabulary::VOCABULARY;
use headway_units::{Bytes, Dialect, Duration, Rate};

/// What is written of it, if anything is, for a link with that MTU.
pub(crate) fn read(
    link: &mut Open<'_, '_>,
    dialect: Dialect,
    mtu: Option<Bytes>,
    (rate, delay): (Option<Rate>, Option<Duration>),
) -> Option<ReverseTable> {
    let value = link.value("reverse")?;
    if link.optional("one_way") == Some(true) {
        link.wrong("reverse", "a link with one_way = true has no way back: leave one of the two out");
    }
    let path = link.path.key("reverse");
    let mut table = link.reader.open(value, &path, &VOCABULARY.reverse)?;
    let capacity: Option<String> = table.optional("capacity");
    Some(ReverseTable {
        changes: crate::changes::read(&mut table, rate, delay, capacity.is_some()),
        capacity,
        loss: instead(&mut table, "loss", |table| table.options("loss", dialect, &VOCABULARY.loss)),
        policer: instead(&mut table, "policer", |table| crate::policer::read(table, mtu)),
        shaper: instead(&mut table, "shaper", |table| crate::shaper::read(table, mtu)),
        jitter: instead(&mut table, "jitter", |table| table.options("jitter", dialect, &VOCABULARY.jitter)),
        reorder: instead(&mut table, "reorder", |table| table.options("reorder", dialect, &VOCABULARY.reorder)),
        duplicate: instead(&mut table, "duplicate", crate::duplicate::read),
    })
}

/// `false` for none, or what `read` makes of it.
fn instead<'r, 'a, T>(
    table: &mut Open<'r, 'a>,
    key: &str,
    read: impl FnOnce(&mut Open<'r, 'a>) -> Option<T>,
) -> Option<Instead<T>> {
    match table.value(key)?.data {
        Data::Boolean(false) => Some(Instead::Off(false)),
        _ => read(table).map(Instead::Is),
    }
}
