//! The link of `headway proxy` and `headway shell`.

use crate::arguments::LinkOptions;
use crate::error::Failure;
use crate::sets;
use headway_run::ScenarioText;
use headway_scenario::{Links, Override, ScenarioError, links};

/// Rate of a link without `--scenario`, the largest one.
const BARE_RATE: &str = "rate = \"8Gbps\"\n";

impl LinkOptions {
    /// Returns the links of the scenario, or the default link, with the overrides of the arguments.
    pub(crate) fn read(&self, between: [&str; 2]) -> Result<Links, Failure> {
        let ScenarioText { file, text, files, .. } = match &self.scenario {
            Some(path) => ScenarioText::read(path, [])?,
            None => {
                let [from, to] = between;
                let rate = if self.capacity.is_some() { "" } else { BARE_RATE };
                let text = format!("[[link]]\nbetween = [\"{from}\", \"{to}\"]\ndelay = \"0s\"\n{rate}");
                ScenarioText::written("the link", &text, [])?
            }
        };
        let forward = format!("link[{}]", self.link.as_deref().unwrap_or("0"));
        let mut sets = sets::seed(self.seed);
        self.set_both(&forward, &mut sets)?;
        // Keys for the reverse direction.
        let mut reverse = format!("{forward}.reverse");
        if let Some(name) = self.one_way_reverse(&|overrides| links(&file, &text, overrides, &files)) {
            reverse = format!("link[{name}]");
            self.set_both(&reverse, &mut sets)?;
        }
        for set in &self.reverse {
            if !set.contains('=') {
                return Err(Failure::Proxy(format!("--reverse {set}: expected KEY=VALUE")));
            }
            sets.push(("--reverse", format!("{reverse}.{}", set.trim())));
        }
        // Errors of these options include the link of --link.
        let named = |option: &str| {
            self.link.as_ref().map_or_else(|| option.to_owned(), |link| format!("--link {link} {option}"))
        };
        let label = |(option, set): (&str, String)| {
            if set.starts_with("link[") { (named(option), set) } else { (option.to_owned(), set) }
        };
        let sets: Vec<(String, String)> = sets.into_iter().map(label).collect();
        let overrides = sets::overrides(&sets, &self.overrides)?;
        Ok(links(&file, &text, &overrides, &files)?)
    }

    /// Returns the name of the scenario's link in the reverse direction, if each direction is a link with `one_way`.
    /// `parse` returns the links with overrides.
    fn one_way_reverse(&self, parse: &dyn Fn(&[Override]) -> Result<Links, ScenarioError>) -> Option<String> {
        // An error is returned with the overrides.
        let all = parse(&[]).ok()?;
        let both = all.duplex(self.link.as_deref()).ok()?;
        // The reverse direction of a duplex link has no keys under its own name.
        let keys = both.map(|link| format!("link[{}].by_flow={}", link.name, link.by_flow).parse());
        parse(&keys.into_iter().collect::<Result<Vec<_>, _>>().ok()?).ok().map(|_| both[1].name.clone())
    }

    /// Adds the keys for both directions to those of `link`.
    fn set_both(&self, link: &str, sets: &mut Vec<(&'static str, String)>) -> Result<(), Failure> {
        for (option, key, value) in [("--rate", "rate", &self.rate), ("--delay", "delay", &self.delay)] {
            sets.extend(value.iter().map(|value| (option, format!("{link}.{key}={value}"))));
        }
        let capacity = self.capacity.iter().map(|file| file.display().to_string());
        sets.extend(capacity.map(|file| ("--capacity", format!("{link}.capacity=\"{}\"", file.escape_debug()))));
        for (option, key, value) in [("--queue", "queue", &self.queue), ("--loss", "loss", &self.loss)] {
            let Some(text) = value else { continue };
            let (kind, keys) = text.split_once(',').unwrap_or((text, ""));
            // The table replaces that of the scenario.
            sets.push((option, format!("{link}.{key}={{ kind = \"{}\" }}", kind.trim().escape_debug())));
            for part in keys.split(',').filter(|part| !part.trim().is_empty()) {
                if !part.contains('=') {
                    let message = format!("--{key} {text}: \"{}\" has no value; expected KEY=VALUE", part.trim());
                    return Err(Failure::Proxy(message));
                }
                let set = format!("{link}.{key}.{}", part.trim());
                if sets.iter().any(|(_, first)| sets::key(first) == sets::key(&set)) {
                    let part = sets::key(part);
                    let message = format!("--{key} {text}: {part}: duplicate key");
                    return Err(Failure::Proxy(message));
                }
                sets.push((option, set));
            }
        }
        Ok(())
    }
}
