//! Against ns-2.35's Agent/TFRC.

mod path;
use headway_rate::LossForm;
use headway_units::{Dialect, Duration, Instant, Rate};
use path::{Form, Path, options};

/// Debian ns2 2.35+dfsg-5: 10 Mb/s, 20 ms each way, all defaults, listed packets lost.
#[test]
fn golden() {
    let options = options("tfrc", Dialect::Ns2, |_| {});
    let mut path = Path::new(&options, Form::Agent, LossForm::EventRate, 1000, Duration::from_millis(40));
    path.rate = Some(Rate::from_bits_per_second(10_000_000));
    path.wire = (1032, 40);
    let lost = [400, 470, 560, 600, 700, 820, 860, 1000, 1100, 1160, 1900];
    path.drop = Box::new(move |n| lost.contains(&n));
    path.early = vec![9, 16];
    path.send_first = vec![122_572_800];
    for (ms, rate, sent) in [
        (20, 300.0, 1),
        (60, 97901.0, 3),
        (100, 97901.0, 7),
        (200, 239904.8, 24),
        (300, 584823.2, 59),
        (400, 1081106.4, 126),
        (500, 1847089.6, 257),
        (600, 2422480.6, 473),
        (700, 976935.7, 637),
        (800, 842161.8, 695),
        (1000, 430400.3, 765),
        (1500, 377999.6, 1003),
        (2000, 257159.6, 1189),
        (3000, 295846.0, 1486),
        (4000, 431434.4, 1845),
        (5000, 503824.5, 2312),
        (8000, 1038109.0, 4603),
        (12000, 1267698.7, 9385),
    ] {
        path.run(Instant::from_millis(ms));
        println!(
            "{ms} {rate} {:.1} {:.4}   {sent} {} {:.4} p {:?}",
            path.allowed(),
            path.allowed() / rate,
            path.sent,
            path.sent as f64 / sent as f64,
            path.status().loss_event_rate
        );
    }
}
