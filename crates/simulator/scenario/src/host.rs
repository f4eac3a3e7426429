//! `host` of a `[[node]]`: the CPU time of receiving, and the queues in front of it.

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_link::HostOptions;

pub(crate) fn read(node: &mut Open<'_, '_>) -> Option<HostOptions> {
    let value = node.value("host")?;
    let path = node.path.key("host");
    let mut table = node.reader.open(value, &path, &VOCABULARY.host)?;
    let (arrival, delivery) = (table.required("arrival", "\"15us\""), table.required("delivery", "\"180us\""));
    let (queue, ring) = (table.optional("queue"), table.optional("ring"));
    let mut options = HostOptions::new(arrival?, delivery?);
    options.queue = queue.unwrap_or(options.queue);
    options.ring = ring.unwrap_or(options.ring);
    if let Err(error) = options.check() {
        table.wrong(error.key, error.message);
    }
    Some(options)
}
