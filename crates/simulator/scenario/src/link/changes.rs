//! `changes` of one direction of a link.

use crate::limits::{FASTEST_WITHOUT_DELAY, LONGEST_RUN};
use crate::reader::Open;
use headway_link::{LinkChange, LinkChanges};
use headway_units::{Duration, Rate};

/// More are a capacity that was measured.
const MOST: usize = 100_000;

/// What is written of them, if it can be: of a link that begins with this rate and this delay. None has a rate where `is_measured`.
pub(crate) fn read(
    open: &mut Open<'_, '_>,
    rate: Option<Rate>,
    delay: Option<Duration>,
    is_measured: bool,
) -> Option<Vec<LinkChange>> {
    let changes: Vec<LinkChange> = open.optional("changes")?;
    if is_measured {
        open.wrong("changes", "capacity already determines the rate: leave one of the two out");
    }
    if changes.len() > MOST {
        open.wrong("changes", format!("there are {} of them: at most {MOST}, or write a capacity", changes.len()));
    }
    if let Some(why) = LinkChanges::new(changes.clone()).err() {
        let at = open.path.key("changes").index(why.index());
        open.reader.wrong(&at, why.to_string());
    }
    let (mut rate, mut delay) = (rate, delay);
    for (index, change) in changes.iter().enumerate() {
        let at = open.path.key("changes").index(index);
        (rate, delay) = (change.rate.or(rate), change.delay.or(delay));
        if change.delay.is_some_and(|delay| delay > LONGEST_RUN) {
            open.reader.wrong(&at.key("delay"), format!("expected a delay of at most {LONGEST_RUN}"));
        }
        if delay.is_some_and(Duration::is_zero) && rate.is_some_and(|rate| rate > FASTEST_WITHOUT_DELAY) {
            let message = format!(
                "a link with a delay of 0s transmits at {FASTEST_WITHOUT_DELAY} at most: write a delay of at least \"1ns\", or a lower rate"
            );
            open.reader.wrong(&at, message);
        }
    }
    Some(changes)
}
