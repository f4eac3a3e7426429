//! Invariants of a send queue of any kind with any packets, requests and reports. Shared by the fuzz target and the
//! test that replays `fuzz/corpus`.

use super::choices::Choices;
use headway_media::{
    Fragment, Full, Late, Lost, Media, Order, QueueMethod, ReportedPackets, Rules, SendQueue, SendQueueOptions, Travel,
    Unsent,
};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, QueueSize, Registry, SendDrop};

/// Reference model of the queue. `created` identifies a packet.
struct Ledger {
    options: SendQueueOptions,
    /// Whether messages have individual methods.
    has_methods: bool,
    queue: SendQueue,
    now: Instant,
    waiting: Vec<Media>,
    /// Estimated travel time before each step; sent packets may change it.
    travel: Duration,
    /// Packets enqueued (including lost ones that are queued again), sent, discarded.
    counts: [u64; 3],
    number: u64,
}

/// Interprets the bytes as options and events. The first selects the kind, the second options that differ from it.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let Some((options, has_methods)) = options(&mut choices) else { return };
    let queue = SendQueue::new(&options);
    let (now, travel) = (Instant::from_secs(1), Duration::ZERO);
    let mut ledger = Ledger { options, has_methods, queue, now, waiting: vec![], travel, counts: [0; 3], number: 0 };
    while let Some(step) = choices.step() {
        ledger.now += Duration::from_millis(u64::from(step >> 4));
        ledger.travel = ledger.queue.travel(ledger.now);
        match step & 15 {
            0..6 => ledger.enqueue(&mut choices),
            6..10 => ledger.dequeue(),
            10 => ledger.report(&mut choices),
            11 => ledger.queue.set_round_trip(Duration::from_nanos(choices.wide())),
            12 => ledger.queue.on_round_trip(Duration::from_nanos(choices.wide())),
            13 => ledger.queue.on_one_way_delay(Duration::from_nanos(choices.wide())),
            _ => ledger.now += Duration::from_micros(choices.wide() & ((1 << 40) - 1)),
        }
        ledger.holds();
    }
    // The queue can be emptied.
    while !ledger.queue.is_empty() {
        ledger.travel = ledger.queue.travel(ledger.now);
        ledger.dequeue();
        ledger.holds();
    }
    let [enqueued, sent, dropped] = ledger.counts;
    assert_eq!(enqueued, sent + dropped);
    assert!(format!("{:?}", ledger.queue).len() < 8 << 20, "its state is bounded");
}

fn options(choices: &mut Choices<'_>) -> Option<(SendQueueOptions, bool)> {
    let kind = choices.one(SendQueueOptions::KINDS);
    let mut options = SendQueueOptions::preset(kind, choices.one(&[Dialect::Rfc, Dialect::Ns2, Dialect::Linux]))?;
    let (other, rules) = (choices.byte(), &mut options.rules);
    if other & 1 != 0 {
        rules.limit = QueueSize::Packets(u64::from(choices.byte() & 15));
    }
    if other & 2 != 0 {
        rules.limit = QueueSize::Bytes(Bytes::new(choices.wide()));
    }
    if other & 4 != 0 {
        rules.order =
            choices.one(&[Order::Arrival, Order::Priority, Order::Expiry, Order::PriorityExpiry, Order::Score]);
        rules.full = choices.one(&[Full::Refuse, Full::DropOldest, Full::DropLeastUrgent, Full::DropWorst]);
        rules.late =
            choices.one(&[Late::Send, Late::Discard, Late::DiscardUnlessLast, Late::SendLast, Late::SureFirst]);
        rules.travel = choices.one(&[Travel::RoundTrip, Travel::OneWay, Travel::Forward]);
    }
    if other & 8 != 0 {
        rules.rtt_share = choices.part();
        rules.margin = choices.part() * 100.0;
        rules.priority_weight = Duration::from_nanos(choices.wide());
        rules.size_weight = Duration::from_nanos(choices.wide());
    }
    rules.resend = other & 16 != 0;
    rules.discard_spends = other & 32 != 0;
    match options.check() {
        Ok(()) => {
            let has_methods = other & 64 != 0 && options.accepts_methods();
            Some((options, has_methods))
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

impl Ledger {
    /// Returns the rules of a message.
    fn rules_of(&self, media: &Media) -> Rules {
        let kind = media.method.and_then(|method| SendQueueOptions::preset(method.name(), Dialect::Rfc));
        kind.map_or_else(|| self.options.rules.clone(), |kind| kind.rules)
    }

    fn is_late(&self, media: &Media) -> bool {
        !media.lateness(self.now, self.travel).is_zero()
    }

    fn enqueue(&mut self, choices: &mut Choices<'_>) {
        let lifetime = choices.byte();
        self.counts[0] += 1;
        let created = Instant::from_nanos(self.counts[0]);
        let media = Media {
            payload: (),
            size: Bytes::new(if lifetime & 1 == 0 {
                u64::from(choices.byte()) * 8
            } else {
                choices.wide() & 0xff_ffff
            }),
            kind: choices.one(&[MediaKind::Audio, MediaKind::VideoI, MediaKind::VideoP, MediaKind::VideoB]),
            priority: choices.byte() & 3,
            created,
            expires: (lifetime != 255).then(|| self.now + Duration::from_millis(u64::from(lifetime) * 2)),
            fragment: (lifetime & 4 == 0).then_some(Fragment { frame: 0, index: 0, last: lifetime & 2 == 0 }),
            method: self.has_methods.then(|| method(choices)).flatten(),
        };
        self.waiting.push(media);
        let mut unsent = vec![];
        self.queue.enqueue(self.now, media, &mut |packet| unsent.push(packet));
        self.check_discarded(&unsent, Some(media));
    }

    /// Checks that discarded packets were queued or are the newcomer, and that the cause is correct.
    fn check_discarded(&mut self, unsent: &[Unsent], newcomer: Option<Media>) {
        for Unsent { media, cause, lateness } in unsent {
            let place = self.waiting.iter().position(|waiting| waiting == media);
            self.waiting.remove(place.expect("discarded packets were queued, and are discarded once"));
            self.counts[2] += 1;
            assert_eq!(*lateness, media.lateness(self.now, self.travel));
            match cause {
                SendDrop::Expired => assert!(!lateness.is_zero() && newcomer.is_none(), "{media:?} is on time"),
                SendDrop::Refused => assert_eq!(Some(*media), newcomer, "only newcomers are refused"),
                SendDrop::PushedOut => assert!(newcomer.is_some() && Some(*media) != newcomer, "there is no newcomer"),
            }
        }
        let refuses = newcomer.is_none_or(|media| self.rules_of(&media).full == Full::Refuse);
        assert!(!refuses || unsent.iter().all(|unsent| unsent.cause != SendDrop::PushedOut), "it refuses");
        for Unsent { media, cause, .. } in unsent {
            let sends_all = matches!(self.rules_of(media).late, Late::Send | Late::SendLast);
            assert!(!sends_all || *cause != SendDrop::Expired, "this queue sends late packets");
        }
    }

    fn dequeue(&mut self) {
        let mut unsent = vec![];
        while self.queue.discard_head(self.now, &mut |packet| unsent.push(packet)) {}
        self.check_discarded(&unsent, None);
        let next = self.queue.next(self.now);
        assert_eq!(next.is_some(), !self.queue.is_empty());
        let mut unsent = vec![];
        let sent = self.queue.dequeue(self.now, &mut |packet| unsent.push(packet));
        self.check_discarded(&unsent, None);
        let Some(sent) = sent else {
            assert!(self.waiting.is_empty(), "packets are queued, and none is sent");
            return;
        };
        let age = self.now.since(sent.created);
        let next = next.map(|next| (next.size, next.age, next.expires, next.ends_frame));
        assert_eq!(
            next,
            Some((sent.size, age, sent.expires, sent.ends_frame())),
            "the sent packet differs from the announced one"
        );
        let place = self.waiting.iter().position(|waiting| *waiting == sent);
        self.waiting.remove(place.expect("sent packets were queued, and are sent once"));
        self.counts[1] += 1;
        let rules = self.rules_of(&sent);
        let in_time = |queue: &Self| queue.waiting.iter().any(|waiting| !queue.is_late(waiting));
        if self.is_late(&sent) {
            match rules.late {
                Late::Send => {}
                Late::Discard => panic!("{sent:?} is late and sent"),
                // The last packet is sent even if it is late.
                Late::DiscardUnlessLast | Late::SureFirst => {
                    assert!(self.waiting.is_empty(), "{sent:?} is late, and others wait");
                }
                Late::SendLast => assert!(!in_time(self), "{sent:?} is late, and others would arrive on time"),
            }
        } else {
            // Packets that precede it in its order are sent first, unless they are late or less likely to be on time.
            let first = |other: &Media| match rules.order {
                Order::Arrival => other.created < sent.created,
                Order::Priority => other.priority < sent.priority,
                Order::Expiry => expiry(other) < expiry(&sent),
                Order::PriorityExpiry => (other.priority, expiry(other)) < (sent.priority, expiry(&sent)),
                Order::Score => false,
            };
            let overtaken = self.waiting.iter().find(|other| {
                (rules.late == Late::Send || !self.is_late(other)) && rules.late != Late::SureFirst && first(other)
            });
            let resends = rules.resend && rules.order == Order::Arrival;
            assert!(overtaken.is_none() || resends || self.has_methods, "{sent:?} overtakes {overtaken:?}");
        }
        self.number += 1 + u64::from(sent.priority);
        self.queue.sent(self.number, sent);
    }

    fn report(&mut self, choices: &mut Choices<'_>) {
        let reports: Vec<_> = (0..choices.byte() & 7)
            .map(|_| {
                let newest = self.number.saturating_sub(u64::from(choices.byte() & 63));
                let oldest = newest.saturating_sub(choices.wide());
                ReportedPackets { numbers: oldest..=newest, received: choices.byte() & 1 == 0 }
            })
            .collect();
        let (mut lost, mut unsent) = (vec![], vec![]);
        let mut found = |found: Lost<'_>| match found {
            Lost::Returns(media) => lost.push((*media, true)),
            Lost::Late(media) => lost.push((media, false)),
        };
        self.queue.report(self.now, reports, &mut found, &mut |packet| unsent.push(packet));
        assert!(self.queue.resends() || lost.is_empty());
        for (media, returns) in &lost {
            assert_eq!(*returns, !self.is_late(media), "resent packets would arrive on time");
            if *returns {
                self.waiting.push(*media);
                self.counts[0] += 1;
            }
        }
        for one in unsent {
            // Each resent packet was a newcomer.
            let newcomer = lost.iter().map(|(media, _)| *media).find(|media| *media == one.media);
            self.check_discarded(&[one], if one.cause == SendDrop::PushedOut { Some(NO_PACKET) } else { newcomer });
        }
    }

    fn holds(&self) {
        assert_eq!(self.queue.len(), self.waiting.len(), "in = out + dropped + waiting");
        let bytes: u64 = self.waiting.iter().map(|media| media.size.count()).sum();
        assert_eq!(self.queue.bytes().count(), bytes);
        assert_eq!(self.queue.next(self.now).map_or(0, |next| next.waiting.count()), bytes);
        match self.options.rules.limit {
            QueueSize::Packets(most) => assert!(self.waiting.len() as u64 <= most),
            QueueSize::Bytes(most) => assert!(bytes <= most.count()),
        }
    }
}

/// The method of a message, or none.
fn method(choices: &mut Choices<'_>) -> Option<QueueMethod> {
    let names: Vec<&str> = QueueMethod::names().collect();
    QueueMethod::named(names.get(usize::from(choices.byte()))?).ok()
}

fn expiry(media: &Media) -> Instant {
    media.expires.unwrap_or(Instant::FAR_FUTURE)
}

/// Placeholder that equals no enqueued packet.
const NO_PACKET: Media = Media {
    payload: (),
    size: Bytes::new(0),
    kind: MediaKind::Audio,
    priority: 0,
    created: Instant::ZERO,
    expires: None,
    fragment: None,
    method: None,
};
