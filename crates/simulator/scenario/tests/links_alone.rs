//! Links read without the scenario around them.

use headway_scenario::{NoFiles, links, load};

/// What a whole scenario makes of its links is what is made of them alone, with the same overrides.
#[test]
fn links_alone_are_those_of_the_scenario() {
    let text = r#"
        duration = "10s"
        seed = 7
        [[link]]
        between = ["a", "b"]
        rate = "2Mbps"
        delay = "10ms"
        loss = { kind = "bernoulli", probability = 0.1 }
        reverse = { loss = false }
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        source = { kind = "cbr", rate = "1Mbps", size = "1000B" }
    "#;
    let set = ["link[a->b].queue.limit=7packets".parse().unwrap()];
    let scenario = load("s.toml", text, &set, &NoFiles).unwrap().scenario;
    let alone = links("s.toml", text, &set, &NoFiles).unwrap();
    assert_eq!((alone.seed, alone.ties, &alone.links), (7, scenario.ties, &scenario.links));
    let [there, back] = alone.duplex(None).unwrap();
    assert_eq!((there.name.as_str(), back.name.as_str()), ("a->b", "b->a"));
    assert!(there.loss.is_some() && back.loss.is_none());
    let [there, back] = alone.duplex(Some("b->a")).unwrap();
    assert_eq!((there.name.as_str(), back.name.as_str()), ("b->a", "a->b"));
}

#[test]
fn a_link_that_cannot_be_both_ways_is_refused_in_a_sentence() {
    let link =
        |ends: &str, more: &str| format!("[[link]]\nbetween = {ends}\nrate = \"2Mbps\"\ndelay = \"1ms\"\n{more}\n");
    let refused =
        |text: &str, name| links("l.toml", text, &[], &NoFiles).unwrap().duplex(name).unwrap_err().to_string();
    let two = link("[\"a\", \"b\"]", "") + &link("[\"b\", \"c\"]", "");
    assert_eq!(refused(&two, None), "there are several links: name one of a->b, b->a, b->c, c->b");
    assert_eq!(refused(&two, Some("x")), "there is no link \"x\": there are a->b, b->a, b->c, c->b");
    let one_way = link("[\"a\", \"b\"]", "one_way = true");
    assert_eq!(refused(&one_way, None), "the link a->b has no reverse path: leave one_way out");
    assert!(refused("seed = 1", None).contains("write one [[link]]"));
    let error = links("l.toml", &link("[\"a\", \"b\"]", "rat = 1"), &[], &NoFiles).unwrap_err();
    assert!(error.to_string().contains("rate"), "{error}");
}
