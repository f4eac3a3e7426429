use super::*;
use crate::queue::testing::Packet;
use headway_units::Options as _;

fn class(names: &[&str]) -> Class {
    Class { dscp: names.iter().map(|name| name.parse().unwrap()).collect(), limit: None }
}

/// The highest class first, within a class in the order of arrival; packets without a class last.
#[test]
fn classes_leave_in_their_order() {
    let options = Options { classes: vec![class(&["ef", "va"]), class(&["af41"])], ..Options::preset(Dialect::Rfc) };
    options.check().unwrap();
    let (mut queue, mut pool, mut decisions) = (Priority::new(&options), Pool::default(), VecDeque::new());
    for name in ["cs0", "af41", "va", "cs7", "ef", "af41"] {
        let packet = pool.insert(Packet { dscp: name.parse().unwrap(), ..Packet::of(100) });
        queue.enqueue(Instant::ZERO, packet, &mut pool, &mut decisions);
    }
    assert_eq!(queue.waiting(), (6, 600));
    let mut depart =
        || queue.dequeue(Instant::ZERO, &mut pool, &mut decisions).map(|packet| pool.get(packet).dscp.to_string());
    let left: Vec<_> = std::iter::from_fn(&mut depart).collect();
    assert_eq!(left, ["va", "ef", "af41", "af41", "cs0", "cs7"]);
    assert!(decisions.is_empty());
}

#[test]
fn impossible_options_are_named() {
    let wrong = |options: Options| {
        let error = options.check().unwrap_err();
        (error.key, error.tables)
    };
    let preset = || Options::preset(Dialect::Rfc);
    assert_eq!(wrong(Options { limit: QueueSize::Packets(0), ..preset() }), ("limit", vec![]));
    let limited = Class { limit: Some(QueueSize::Packets(0)), ..class(&["ef"]) };
    assert_eq!(wrong(Options { classes: vec![limited], ..preset() }), ("limit", vec!["classes"]));
    assert_eq!(wrong(Options { classes: vec![class(&[])], ..preset() }), ("classes", vec![]));
    assert_eq!(wrong(Options { classes: vec![class(&["ef"]), class(&["ef"])], ..preset() }), ("classes", vec![]));
}

#[test]
fn each_bound_of_the_options_holds_on_both_sides() {
    let limited = |limit| Class { limit: Some(QueueSize::Packets(limit)), ..class(&["ef"]) };
    for limit in [1, 0] {
        let own = Options { limit: QueueSize::Packets(limit), ..Options::preset(Dialect::Rfc) };
        let of_class = Options { classes: vec![limited(limit)], ..Options::preset(Dialect::Rfc) };
        assert_eq!([own.check().is_ok(), of_class.check().is_ok()], [limit == 1; 2]);
    }
}
