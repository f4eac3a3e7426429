//! Parser of expressions.

use super::fault::{ExpressionFault, MAX_DEPTH, MAX_LENGTH};
use super::function::Function;
use super::node::{Node, Operator};
use super::path::{Path, Selector};

pub(super) fn parse(text: &str) -> Result<Node, ExpressionFault> {
    if text.len() > MAX_LENGTH {
        return Err(ExpressionFault::TooLong(text.len()));
    }
    let mut parser = Parser { rest: text.trim_start(), depth: 0 };
    let node = parser.sum()?;
    if parser.rest.is_empty() { Ok(node) } else { Err(ExpressionFault::Unexpected(parser.rest.to_owned())) }
}

struct Parser<'a> {
    /// Remaining text, without leading white space.
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn take(&mut self, sign: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// Consumes the longest prefix of characters accepted by `predicate`.
    fn take_while(&mut self, predicate: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !predicate(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn missing<T>(&self, expected: impl Into<String>) -> Result<T, ExpressionFault> {
        Err(ExpressionFault::Missing { expected: expected.into(), rest: self.rest.to_owned() })
    }

    fn expect(&mut self, sign: char) -> Result<(), ExpressionFault> {
        if self.take(sign) { Ok(()) } else { self.missing(format!("\"{sign}\"")) }
    }

    fn sum(&mut self) -> Result<Node, ExpressionFault> {
        let mut node = self.product()?;
        loop {
            let operator = match () {
                () if self.take('+') => Operator::Add,
                () if self.take('-') => Operator::Subtract,
                () => return Ok(node),
            };
            node = Node::Binary(operator, Box::new([node, self.product()?]));
        }
    }

    fn product(&mut self) -> Result<Node, ExpressionFault> {
        let mut node = self.factor()?;
        loop {
            let operator = match () {
                () if self.take('*') => Operator::Multiply,
                () if self.take('/') => Operator::Divide,
                () => return Ok(node),
            };
            node = Node::Binary(operator, Box::new([node, self.factor()?]));
        }
    }

    fn factor(&mut self) -> Result<Node, ExpressionFault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ExpressionFault::TooDeep);
        }
        let node = self.unlimited_factor()?;
        self.depth -= 1;
        Ok(node)
    }

    fn unlimited_factor(&mut self) -> Result<Node, ExpressionFault> {
        if self.take('-') {
            return Ok(Node::Negative(Box::new(self.factor()?)));
        }
        if self.take('(') {
            let node = self.sum()?;
            self.expect(')')?;
            return Ok(node);
        }
        match self.rest.chars().next() {
            Some('0'..='9' | '.') => self.number(),
            Some('a'..='z' | '_') => self.path_or_call(),
            _ => self.missing("a number, a path or a function"),
        }
    }

    fn number(&mut self) -> Result<Node, ExpressionFault> {
        let before = self.rest;
        self.take_while(|c| c.is_ascii_digit() || c == '.');
        let mut end = before.len() - self.rest.len();
        // The exponent, with an optional sign.
        if let Some(exponent) = self.rest.strip_prefix(['e', 'E']) {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            if after.len() < digits.len() {
                end = before.len() - after.len();
            }
        }
        let (text, rest) = before.split_at(end);
        self.rest = rest.trim_start();
        text.parse().map(Node::Number).map_err(|_| ExpressionFault::NotANumber(text.to_owned()))
    }

    fn key(&mut self) -> Result<String, ExpressionFault> {
        let key = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if key.is_empty() { self.missing("a key") } else { Ok(key.to_owned()) }
    }

    fn path_or_call(&mut self) -> Result<Node, ExpressionFault> {
        let word = self.key()?;
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest.trim_start();
            return self.call(&word);
        }
        let list = match self.rest.strip_prefix('[') {
            None => None,
            Some(rest) => {
                self.rest = rest;
                Some(Selector { list: word.clone(), name: self.name()? })
            }
        };
        let mut keys = if list.is_some() { Vec::new() } else { vec![word] };
        while let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            keys.push(self.key()?);
        }
        self.rest = self.rest.trim_start();
        match list {
            Some(Selector { list, name }) if keys.is_empty() => Err(ExpressionFault::NoKey { list, name }),
            list => Ok(Node::Path(Path { list, keys })),
        }
    }

    /// Parses a name up to its closing bracket. Names may contain pairs of brackets.
    fn name(&mut self) -> Result<String, ExpressionFault> {
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
        self.rest = "";
        self.missing("\"]\"")
    }

    fn call(&mut self, name: &str) -> Result<Node, ExpressionFault> {
        let function =
            Function::named(name).ok_or_else(|| ExpressionFault::UnknownFunction { name: name.to_owned() })?;
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        if function.accepts(arguments.len()) {
            Ok(Node::Call(function, arguments))
        } else {
            Err(ExpressionFault::Arguments { function: name.to_owned(), count: arguments.len() })
        }
    }
}
