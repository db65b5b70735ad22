//! From text to an expression, by recursive descent.

use alloc::{boxed::Box, format, string::String, vec::Vec};

use super::{MOST_NODES, Node, One, Two, Unexpected};
use crate::params::{ParamValue, Ticks};

/// Brackets, signs and powers within each other.
const DEEPEST: usize = 64;

const OPERAND: &str = "a number, a name or `(`";
const OPERATOR: &str = "an operator";
const NUMBER: &str = "a number, or a time such as 84min, 250s, 20ms";

/// Functions of one number.
const ONE: [(&str, One); 5] = [
    ("sqrt", One::Sqrt),
    ("log2", One::Log2),
    ("exp", One::Exp),
    ("abs", One::Abs),
    ("floor", One::Floor),
];
/// Functions of two numbers.
const TWO: [(&str, Two); 2] = [("min", Two::Min), ("max", Two::Max)];
const IF: &str = "if";

pub(super) fn expression(text: &str, names: &[&str]) -> Result<Node, Unexpected> {
    let mut parser = Parser { text, at: 0, names, depth: 0, nodes: 0 };
    let node = parser.comparison()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.wrong(OPERATOR)),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    names: &'a [&'a str],
    depth: usize,
    nodes: usize,
}

type Parsed = Result<Node, Unexpected>;

impl<'a> Parser<'a> {
    /// The next character that is no blank.
    fn peek(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    fn takes(&mut self, sign: &str) -> bool {
        let _ = self.peek();
        let is_next = self.text[self.at..].starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    /// The text from here on whose characters fit.
    fn word(&self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        &rest[..rest.find(|sign| !is_part(sign)).unwrap_or(rest.len())]
    }

    /// The error that something else was expected here.
    fn wrong(&mut self, expected: &str) -> Unexpected {
        let found = match self.peek() {
            None => "its end".into(),
            Some(sign) if sign.is_ascii_alphanumeric() || sign == '.' => {
                format!("`{}`", self.word(|sign| sign.is_ascii_alphanumeric() || sign == '.'))
            }
            Some(sign) => format!("`{sign}`"),
        };
        let column = self.text[..self.at].chars().count() + 1;
        Unexpected { column, expected: expected.into(), found }
    }

    fn made(&mut self, node: Node) -> Parsed {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(self.wrong(&format!("at most {MOST_NODES} numbers, names and operators")));
        }
        Ok(node)
    }

    fn two(&mut self, of: Two, a: Node, b: Node) -> Parsed {
        self.made(Node::Two(of, Box::new([a, b])))
    }

    fn comparison(&mut self) -> Parsed {
        let a = self.sum()?;
        for (sign, of, swapped) in [
            ("<=", Two::AtMost, false),
            (">=", Two::AtMost, true),
            ("<", Two::Less, false),
            (">", Two::Less, true),
        ] {
            if self.takes(sign) {
                let b = self.sum()?;
                return if swapped { self.two(of, b, a) } else { self.two(of, a, b) };
            }
        }
        Ok(a)
    }

    fn sum(&mut self) -> Parsed {
        let mut a = self.product()?;
        loop {
            let of = match self.peek() {
                Some('+') => Two::Add,
                Some('-') => Two::Subtract,
                _ => return Ok(a),
            };
            self.at += 1;
            let b = self.product()?;
            a = self.two(of, a, b)?;
        }
    }

    fn product(&mut self) -> Parsed {
        let mut a = self.signed()?;
        loop {
            let of = match self.peek() {
                Some('*') => Two::Multiply,
                Some('/') => Two::Divide,
                _ => return Ok(a),
            };
            self.at += 1;
            let b = self.signed()?;
            a = self.two(of, a, b)?;
        }
    }

    fn signed(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("fewer brackets, signs and powers within each other"));
        }
        let node = if self.takes("-") {
            let a = self.signed()?;
            self.made(Node::One(One::Negate, Box::new(a)))?
        } else {
            let a = self.atom()?;
            if self.takes("^") {
                let b = self.signed()?;
                self.two(Two::Power, a, b)?
            } else {
                a
            }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn atom(&mut self) -> Parsed {
        match self.peek() {
            Some('(') => Ok(self.inside::<1>()?.into_iter().next().unwrap_or(Node::Number(0.0))),
            Some(sign) if sign.is_ascii_digit() || sign == '.' => self.number(),
            Some(sign) if sign.is_ascii_alphabetic() => self.named(),
            _ => Err(self.wrong(OPERAND)),
        }
    }

    /// Digits, an exponent if there is one, and the unit of a time if there is one.
    fn number(&mut self) -> Parsed {
        let from = self.at;
        self.at += self.word(|sign| sign.is_ascii_digit() || sign == '.').len();
        if let Some(rest) = self.text[self.at..].strip_prefix('e') {
            let signless = rest.strip_prefix(['-', '+']).unwrap_or(rest);
            if signless.starts_with(|sign: char| sign.is_ascii_digit()) {
                self.at += 1 + rest.len() - signless.len();
                self.at += self.word(|sign| sign.is_ascii_digit()).len();
            }
        }
        let digits = &self.text[from..self.at];
        self.at += self.word(|sign| sign.is_ascii_alphanumeric() || sign == '.').len();
        let whole = &self.text[from..self.at];
        let number = if digits.len() == whole.len() {
            digits.parse::<f64>().ok()
        } else {
            Ticks::parse(whole).map(|ticks| ticks.0 as f64)
        };
        match number.filter(|number| number.is_finite()) {
            Some(number) => self.made(Node::Number(number)),
            None => {
                self.at = from;
                Err(self.wrong(NUMBER))
            }
        }
    }

    fn named(&mut self) -> Parsed {
        let word = self.word(|sign| sign.is_ascii_alphanumeric());
        if let Some(name) = self.names.iter().position(|name| *name == word) {
            self.at += word.len();
            return self.made(Node::Name(name as u8));
        }
        if let Some((_, of)) = ONE.iter().find(|(name, _)| *name == word) {
            self.at += word.len();
            let [a] = self.inside()?;
            return self.made(Node::One(*of, Box::new(a)));
        }
        if let Some((_, of)) = TWO.iter().find(|(name, _)| *name == word) {
            self.at += word.len();
            let [a, b] = self.inside()?;
            return self.two(*of, a, b);
        }
        if word == IF {
            self.at += word.len();
            let parts = self.inside()?;
            return self.made(Node::If(Box::new(parts)));
        }
        let functions = ONE.iter().map(|(name, _)| *name).chain(TWO.iter().map(|(name, _)| *name));
        let known: Vec<&str> = self.names.iter().copied().chain(functions).chain([IF]).collect();
        let expected: String = format!("one of {}", known.join(", "));
        Err(self.wrong(&expected))
    }

    /// So many expressions in brackets.
    fn inside<const COUNT: usize>(&mut self) -> Result<[Node; COUNT], Unexpected> {
        if !self.takes("(") {
            return Err(self.wrong("`(`"));
        }
        let mut all = [const { Node::Number(0.0) }; COUNT];
        for (number, part) in all.iter_mut().enumerate() {
            *part = self.comparison()?;
            let (sign, expected) = if number + 1 < COUNT {
                (",", "an operator or `,`")
            } else {
                (")", "an operator or `)`")
            };
            if !self.takes(sign) {
                return Err(self.wrong(expected));
            }
        }
        Ok(all)
    }
}
