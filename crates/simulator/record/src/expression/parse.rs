//! The text of an expression.

use super::function::Function;
use super::path::{Named, Path};
use super::{Node, Operator};

/// Brackets and signs inside of one another.
const DEEPEST: usize = 32;
/// Bytes.
const LONGEST: usize = 4096;
/// Characters of it that a message quotes.
const QUOTED: usize = 120;

/// As a message quotes it.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(QUOTED).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(QUOTED).is_some() {
        short.push_str("...");
    }
    short
}

/// `Err` says what is wrong.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    if text.len() > LONGEST {
        return Err(format!("it has {} bytes; {LONGEST} are the most", text.len()));
    }
    let mut parser = Parser { rest: text.trim_start(), depth: 0 };
    let node = parser.sum()?;
    if parser.rest.is_empty() { Ok(node) } else { Err(format!("nothing can be made of \"{}\"", shown(parser.rest))) }
}

struct Parser<'a> {
    /// Begins with no white space.
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn take(&mut self, sign: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// What begins the rest and fits.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.take(sign) {
            return Ok(());
        }
        let found = if self.rest.is_empty() { "its end".to_owned() } else { format!("\"{}\"", shown(self.rest)) };
        Err(format!("\"{sign}\" is missing before {found}"))
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut node = self.product()?;
        loop {
            let operator = match () {
                () if self.take('+') => Operator::Add,
                () if self.take('-') => Operator::Subtract,
                () => return Ok(node),
            };
            node = Node::Two(operator, Box::new([node, self.product()?]));
        }
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut node = self.one()?;
        loop {
            let operator = match () {
                () if self.take('*') => Operator::Multiply,
                () if self.take('/') => Operator::Divide,
                () => return Ok(node),
            };
            node = Node::Two(operator, Box::new([node, self.one()?]));
        }
    }

    fn one(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} brackets and signs are inside of one another"));
        }
        let node = self.inner()?;
        self.depth -= 1;
        Ok(node)
    }

    fn inner(&mut self) -> Result<Node, String> {
        if self.take('-') {
            return Ok(Node::Negative(Box::new(self.one()?)));
        }
        if self.take('(') {
            let node = self.sum()?;
            self.expect(')')?;
            return Ok(node);
        }
        match self.rest.chars().next() {
            Some('0'..='9' | '.') => self.number(),
            Some('a'..='z' | '_') => self.word(),
            Some(_) => Err(format!("a number, a path or a function is missing before \"{}\"", shown(self.rest))),
            None => Err("a number, a path or a function is missing at its end".to_owned()),
        }
    }

    fn number(&mut self) -> Result<Node, String> {
        let before = self.rest;
        self.take_while(|c| c.is_ascii_digit() || c == '.');
        let mut end = before.len() - self.rest.len();
        // An exponent, sign and all.
        if let Some(exponent) = self.rest.strip_prefix(['e', 'E']) {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let behind = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            if behind.len() < digits.len() {
                end = before.len() - behind.len();
            }
        }
        let (text, rest) = before.split_at(end);
        self.rest = rest.trim_start();
        text.parse().map(Node::Number).map_err(|_| format!("\"{}\" is no number", shown(text)))
    }

    fn key(&mut self) -> Result<String, String> {
        let key = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if key.is_empty() {
            Err(format!("a key is missing before \"{}\"", shown(self.rest)))
        } else {
            Ok(key.to_owned())
        }
    }

    /// A path or a call.
    fn word(&mut self) -> Result<Node, String> {
        let word = self.key()?;
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest.trim_start();
            return self.call(&word);
        }
        let list = match self.rest.strip_prefix('[') {
            None => None,
            Some(rest) => {
                self.rest = rest;
                Some(Named { list: word.clone(), name: self.name()? })
            }
        };
        let mut keys = if list.is_some() { Vec::new() } else { vec![word] };
        while let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            keys.push(self.key()?);
        }
        self.rest = self.rest.trim_start();
        match &list {
            Some(Named { list, name }) if keys.is_empty() => {
                Err(format!("what of {list}[{}] is wanted? write {list}[{}].KEY", shown(name), shown(name)))
            }
            _ => Ok(Node::Path(Path { list, keys })),
        }
    }

    /// Up to the bracket that closes; a name may have brackets of its own.
    fn name(&mut self) -> Result<String, String> {
        let mut open = 1;
        for (at, c) in self.rest.char_indices() {
            open = match c {
                '[' => open + 1,
                ']' => open - 1,
                _ => open,
            };
            if open == 0 {
                let (name, rest) = self.rest.split_at(at);
                self.rest = &rest[1..];
                return Ok(name.to_owned());
            }
        }
        Err("a \"]\" is missing".to_owned())
    }

    fn call(&mut self, name: &str) -> Result<Node, String> {
        let function = Function::named(name)
            .ok_or_else(|| format!("there is no function \"{name}\"; there are {}", Function::names()))?;
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        if function.takes(arguments.len()) {
            Ok(Node::Call(function, arguments))
        } else {
            Err(format!("{name} takes two arguments, and not {}", arguments.len()))
        }
    }
}
