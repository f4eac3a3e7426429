//! Links of a file that is not a complete scenario.

use headway_scenario::{NoFiles, links, load};

#[test]
fn links_of_a_file_equal_those_of_the_scenario() {
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
    let read = links("s.toml", text, &set, &NoFiles).unwrap();
    assert_eq!((read.seed, read.ties, &read.links), (7, scenario.ties, &scenario.links));
    let [forward, reverse] = read.duplex(None).unwrap();
    assert_eq!((forward.name.as_str(), reverse.name.as_str()), ("a->b", "b->a"));
    assert!(forward.loss.is_some() && reverse.loss.is_none());
    let [forward, reverse] = read.duplex(Some("b->a")).unwrap();
    assert_eq!((forward.name.as_str(), reverse.name.as_str()), ("b->a", "a->b"));
}

#[test]
fn errors_of_duplex_links_state_the_reason() {
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
