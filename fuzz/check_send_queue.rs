//! What must hold for a send queue of any kind, whatever is handed over, asked for and reported. Shared by the fuzz target
//! and by the test that replays `fuzz/corpus`.

use super::choices::Choices;
use headway_media::{
    Fragment, Full, Late, Lost, Media, Order, QueueMethod, ReportedPackets, Rules, SendQueue, SendQueueOptions, Travel,
    Unsent,
};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, QueueSize, Registry, SendDrop};

/// What waits, by a list that somebody keeps beside the queue: `created` tells one packet from all others.
struct Ledger {
    options: SendQueueOptions,
    /// Whether messages have their own methods.
    has_methods: bool,
    queue: SendQueue,
    now: Instant,
    waiting: Vec<Media>,
    /// How long the way is taken to be before each step: what goes may change it.
    travel: Duration,
    /// Handed over, taken out, thrown away; what was found lost and came back counts as handed over again.
    counts: [u64; 3],
    number: u64,
}

/// Bytes as options and what happens: the first chooses the kind, the second what is not as the kind has it.
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
    // Nothing is left behind.
    while !ledger.queue.is_empty() {
        ledger.travel = ledger.queue.travel(ledger.now);
        ledger.dequeue();
        ledger.holds();
    }
    let [came, went, dropped] = ledger.counts;
    assert_eq!(came, went + dropped);
    assert!(format!("{:?}", ledger.queue).len() < 8 << 20, "what it remembers is bounded");
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
    /// Returns the rules by which a message is queued.
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
        self.thrown_away(&unsent, Some(media));
    }

    /// Who is thrown away waited, or came, and its cause is true.
    fn thrown_away(&mut self, unsent: &[Unsent], newcomer: Option<Media>) {
        for Unsent { media, cause, lateness } in unsent {
            let place = self.waiting.iter().position(|waiting| waiting == media);
            self.waiting.remove(place.expect("what is thrown away had come, and is thrown away once"));
            self.counts[2] += 1;
            assert_eq!(*lateness, media.lateness(self.now, self.travel));
            match cause {
                SendDrop::Expired => assert!(!lateness.is_zero() && newcomer.is_none(), "{media:?} is in time"),
                SendDrop::Refused => assert_eq!(Some(*media), newcomer, "only who comes is refused"),
                SendDrop::PushedOut => assert!(newcomer.is_some() && Some(*media) != newcomer, "nobody came"),
            }
        }
        let refuses = newcomer.is_none_or(|media| self.rules_of(&media).full == Full::Refuse);
        assert!(!refuses || unsent.iter().all(|unsent| unsent.cause != SendDrop::PushedOut), "it refuses");
        for Unsent { media, cause, .. } in unsent {
            let sends_all = matches!(self.rules_of(media).late, Late::Send | Late::SendLast);
            assert!(!sends_all || *cause != SendDrop::Expired, "it sends what is late");
        }
    }

    fn dequeue(&mut self) {
        let mut unsent = vec![];
        while self.queue.discard_head(self.now, &mut |packet| unsent.push(packet)) {}
        self.thrown_away(&unsent, None);
        let told = self.queue.next(self.now);
        assert_eq!(told.is_some(), !self.queue.is_empty());
        let mut unsent = vec![];
        let went = self.queue.dequeue(self.now, &mut |packet| unsent.push(packet));
        self.thrown_away(&unsent, None);
        let Some(went) = went else {
            assert!(self.waiting.is_empty(), "something waits, and nothing goes");
            return;
        };
        let age = self.now.since(went.created);
        let told = told.map(|told| (told.size, told.age, told.expires, told.ends_frame));
        assert_eq!(told, Some((went.size, age, went.expires, went.ends_frame())), "another packet goes than was said");
        let place = self.waiting.iter().position(|waiting| *waiting == went);
        self.waiting.remove(place.expect("what goes had come, and goes once"));
        self.counts[1] += 1;
        let rules = self.rules_of(&went);
        let in_time = |queue: &Self| queue.waiting.iter().any(|waiting| !queue.is_late(waiting));
        if self.is_late(&went) {
            match rules.late {
                Late::Send => {}
                Late::Discard => panic!("{went:?} is late and goes"),
                // The last one goes even if it is late.
                Late::DiscardUnlessLast | Late::SureFirst => {
                    assert!(self.waiting.is_empty(), "{went:?} is late, and others wait");
                }
                Late::SendLast => assert!(!in_time(self), "{went:?} is late, and others would come in time"),
            }
        } else {
            // Nothing goes before it that its order puts first, unless that is late or less sure.
            let first = |other: &Media| match rules.order {
                Order::Arrival => other.created < went.created,
                Order::Priority => other.priority < went.priority,
                Order::Expiry => expiry(other) < expiry(&went),
                Order::PriorityExpiry => (other.priority, expiry(other)) < (went.priority, expiry(&went)),
                Order::Score => false,
            };
            let overtaken = self.waiting.iter().find(|other| {
                (rules.late == Late::Send || !self.is_late(other)) && rules.late != Late::SureFirst && first(other)
            });
            let came_back = rules.resend && rules.order == Order::Arrival;
            assert!(overtaken.is_none() || came_back || self.has_methods, "{went:?} overtakes {overtaken:?}");
        }
        self.number += 1 + u64::from(went.priority);
        self.queue.sent(self.number, went);
    }

    fn report(&mut self, choices: &mut Choices<'_>) {
        let told: Vec<_> = (0..choices.byte() & 7)
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
        self.queue.report(self.now, told, &mut found, &mut |packet| unsent.push(packet));
        assert!(self.queue.resends() || lost.is_empty());
        for (media, returns) in &lost {
            assert_eq!(*returns, !self.is_late(media), "who comes back would come in time");
            if *returns {
                self.waiting.push(*media);
                self.counts[0] += 1;
            }
        }
        for one in unsent {
            // Each that came back was a newcomer.
            let newcomer = lost.iter().map(|(media, _)| *media).find(|media| *media == one.media);
            self.thrown_away(&[one], if one.cause == SendDrop::PushedOut { Some(ELSE) } else { newcomer });
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

/// Nobody whom a test hands over.
const ELSE: Media = Media {
    payload: (),
    size: Bytes::new(0),
    kind: MediaKind::Audio,
    priority: 0,
    created: Instant::ZERO,
    expires: None,
    fragment: None,
    method: None,
};
