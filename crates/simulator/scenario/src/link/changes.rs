//! `changes` of a `[[link]]` or its `reverse`: scheduled changes of rate and delay.

use crate::limits::{MAX_DURATION, MAX_RATE_WITHOUT_DELAY};
use crate::reader::Open;
use headway_link::{LinkChange, LinkChanges};
use headway_units::{Duration, Rate};

/// Maximum number of changes; measured capacities are written as a capacity trace.
const MAX_CHANGES: usize = 100_000;

/// Reads the changes of a direction with this initial rate and delay. `is_measured`: the direction has a capacity
/// trace, which excludes changes.
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
    if changes.len() > MAX_CHANGES {
        open.wrong(
            "changes",
            format!("there are {} of them: at most {MAX_CHANGES}, or write a capacity", changes.len()),
        );
    }
    if let Some(error) = LinkChanges::new(changes.clone()).err() {
        let at = open.path.key("changes").index(error.index());
        open.reader.wrong(&at, error.to_string());
    }
    let (mut rate, mut delay) = (rate, delay);
    for (index, change) in changes.iter().enumerate() {
        let at = open.path.key("changes").index(index);
        (rate, delay) = (change.rate.or(rate), change.delay.or(delay));
        if change.delay.is_some_and(|delay| delay > MAX_DURATION) {
            open.reader.wrong(&at.key("delay"), format!("expected a delay of at most {MAX_DURATION}"));
        }
        if delay.is_some_and(Duration::is_zero) && rate.is_some_and(|rate| rate > MAX_RATE_WITHOUT_DELAY) {
            let message = format!(
                "a link with a delay of 0s transmits at {MAX_RATE_WITHOUT_DELAY} at most: write a delay of at least \"1ns\", or a lower rate"
            );
            open.reader.wrong(&at, message);
        }
    }
    Some(changes)
}
