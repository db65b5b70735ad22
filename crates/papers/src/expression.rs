//! Arithmetic on the keys of a result.
//!
//! `flash.blocks_erased`, `banks[0].erases`, `cleaning.choices."cost-benefit"`,
//! `max(banks.erases)`, `1 - sum(a, b.c) / 2`. Existing crates either do not support dotted keys or
//! have licences that this project cannot use, and this is little code.

use serde_json::Value;

use crate::error::{Wrong, listed};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Key(Vec<Step>),
    Negative(Box<Self>),
    Both(Operator, Box<Self>, Box<Self>),
    Of(Aggregate, Vec<Self>),
}

/// One step of a path into a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Key(String),
    Element(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// How several numbers are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Aggregate {
    Min,
    Max,
    Sum,
    Mean,
}

const AGGREGATES: [(&str, Aggregate); 4] = [
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
    ("sum", Aggregate::Sum),
    ("mean", Aggregate::Mean),
];

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NoValue {
    /// A key is absent or `null`, or the divisor is 0; `or` may replace the value.
    Missing(String),
    /// The expression does not fit the result.
    Wrong(String),
}

impl Expression {
    /// Parses an expression.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let mut parser = Parser { rest: text };
        let parsed = parser.sum().and_then(|expression| {
            parser.space();
            match parser.rest {
                "" => Ok(expression),
                rest => Err(format!("`{rest}` is too much")),
            }
        });
        parsed.map_err(|what| {
            Wrong::new(
                format!("`{text}`: {what}"),
                "write keys of a result (`thermocline keys` lists them), numbers, + - * / \
                 and brackets, min(), max(), sum() and mean(); keys with a dash in quotes",
            )
        })
    }

    /// Its value for a result, which must be one number.
    pub fn value(&self, result: &Value) -> Result<f64, NoValue> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Negative(inner) => -inner.value(result)?,
            Self::Both(operator, left, right) => {
                let (left, right) = (left.value(result)?, right.value(result)?);
                match operator {
                    Operator::Plus => left + right,
                    Operator::Minus => left - right,
                    Operator::Times => left * right,
                    Operator::Over if right == 0.0 => {
                        return Err(NoValue::Missing("it divides by 0".into()));
                    }
                    Operator::Over => left / right,
                }
            }
            Self::Key(steps) => {
                let numbers = numbers(steps, result)?;
                match numbers[..] {
                    [number] => number,
                    _ => {
                        return Err(NoValue::Wrong(format!(
                            "`{}` is {} numbers; put mean(), sum(), min() or max() around it, or \
                             name an element, as in banks[0].erases",
                            show(steps),
                            numbers.len()
                        )));
                    }
                }
            }
            Self::Of(aggregate, parts) => {
                let mut all = Vec::new();
                for part in parts {
                    match part {
                        Self::Key(steps) => all.extend(numbers(steps, result)?),
                        other => all.push(other.value(result)?),
                    }
                }
                if all.is_empty() {
                    return Err(NoValue::Missing("there is no element".into()));
                }
                match aggregate {
                    Aggregate::Min => all.into_iter().fold(f64::INFINITY, f64::min),
                    Aggregate::Max => all.into_iter().fold(f64::NEG_INFINITY, f64::max),
                    Aggregate::Sum => all.iter().sum(),
                    Aggregate::Mean => all.iter().sum::<f64>() / all.len() as f64,
                }
            }
        };
        Ok(number)
    }
}

/// All numbers at a path: those of each element of arrays.
fn numbers(steps: &[Step], result: &Value) -> Result<Vec<f64>, NoValue> {
    let mut found = Vec::new();
    collect(steps, 0, result, &mut found)?;
    Ok(found)
}

fn collect(steps: &[Step], at: usize, value: &Value, into: &mut Vec<f64>) -> Result<(), NoValue> {
    match (steps.get(at), value) {
        (None, Value::Number(number)) => {
            into.push(number.as_f64().unwrap_or(f64::NAN));
            Ok(())
        }
        (_, Value::Null) => Err(NoValue::Missing(format!("`{}` is null", show(&steps[..at])))),
        (Some(Step::Element(number)), Value::Array(elements)) => match elements.get(*number) {
            Some(element) => collect(steps, at + 1, element, into),
            None => Err(NoValue::Missing(format!(
                "`{}` has {} elements, and no number {number}",
                show(&steps[..at]),
                elements.len()
            ))),
        },
        (Some(Step::Key(_)) | None, Value::Array(elements)) => {
            elements.iter().try_for_each(|element| collect(steps, at, element, into))
        }
        (Some(Step::Key(key)), Value::Object(object)) => match object.get(key) {
            Some(value) => collect(steps, at + 1, value, into),
            None => {
                let known: Vec<_> = object.keys().map(String::as_str).collect();
                let place = match at {
                    0 => "the result".to_owned(),
                    _ => format!("`{}`", show(&steps[..at])),
                };
                Err(NoValue::Missing(format!(
                    "{place} has no key `{key}`; it has {}",
                    listed(&known)
                )))
            }
        },
        (_, other) => Err(NoValue::Wrong(format!(
            "`{}` is {}, and a number is wanted",
            show(&steps[..at]),
            match other {
                Value::Object(_) => "an object",
                Value::String(_) => "text",
                Value::Bool(_) => "true or false",
                _ => "a single number",
            }
        ))),
    }
}

fn show(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Key(key) if text.is_empty() => text += key,
            Step::Key(key) => text = text + "." + key,
            Step::Element(number) => text += &format!("[{number}]"),
        }
    }
    text
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes a sign if it comes next.
    fn takes(&mut self, sign: char) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn needs(&mut self, sign: char) -> Result<(), String> {
        match self.takes(sign) {
            true => Ok(()),
            false if self.rest.is_empty() => Err(format!("`{sign}` is missing at the end")),
            false => Err(format!("`{sign}` is missing before `{}`", self.rest)),
        }
    }

    /// Takes characters while they match.
    fn run(&mut self, suits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !suits(c)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        run
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(Self::product, [('+', Operator::Plus), ('-', Operator::Minus)])
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.chain(Self::factor, [('*', Operator::Times), ('/', Operator::Over)])
    }

    /// Operands with operators of equal precedence between them, left-associative.
    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Result<Expression, String>,
        operators: [(char, Operator); 2],
    ) -> Result<Expression, String> {
        let mut left = operand(self)?;
        while let Some((_, operator)) = operators.into_iter().find(|(sign, _)| self.takes(*sign)) {
            left = Expression::Both(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, String> {
        if self.takes('-') {
            return Ok(Expression::Negative(Box::new(self.factor()?)));
        }
        if self.takes('(') {
            let inner = self.sum()?;
            return self.needs(')').map(|()| inner);
        }
        match self.rest.chars().next() {
            Some(c) if c.is_ascii_digit() => {
                let number = self.run(|c| c.is_ascii_digit() || c == '.' || c == '_');
                let plain = number.replace('_', "");
                plain
                    .parse()
                    .map(Expression::Number)
                    .map_err(|_| format!("`{number}` is no number"))
            }
            Some(c) if c.is_ascii_alphabetic() || is_quote(c) => self.key_or_call(),
            Some(_) => Err(format!("a key or a number is missing before `{}`", self.rest)),
            None => Err("a key or a number is missing at the end".into()),
        }
    }

    fn key_or_call(&mut self) -> Result<Expression, String> {
        let first = self.name()?;
        let aggregate = AGGREGATES.iter().find(|(name, _)| *name == first);
        if let Some((_, aggregate)) = aggregate
            && self.takes('(')
        {
            let mut parts = vec![self.sum()?];
            while self.takes(',') {
                parts.push(self.sum()?);
            }
            return self.needs(')').map(|()| Expression::Of(*aggregate, parts));
        }
        let mut steps = vec![Step::Key(first)];
        loop {
            if self.takes('.') {
                steps.push(Step::Key(self.name()?));
            } else if self.takes('[') {
                let number = self.run(|c| c.is_ascii_digit());
                let number = number.parse().map_err(|_| "an element is named by a number")?;
                steps.push(Step::Element(number));
                self.needs(']')?;
            } else {
                return Ok(Expression::Key(steps));
            }
        }
    }

    /// A part of a key, quoted if it has more than letters, digits and `_`.
    fn name(&mut self) -> Result<String, String> {
        self.space();
        if let Some(quote) = self.rest.chars().next().filter(|c| is_quote(*c)) {
            self.takes(quote);
            let name = self.run(|c| c != quote).to_owned();
            return self.needs(quote).map(|()| name);
        }
        match self.run(|c| c.is_ascii_alphanumeric() || c == '_') {
            "" => Err("a key is missing behind `.`".into()),
            name => Ok(name.to_owned()),
        }
    }
}

const fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result() -> Value {
        json!({
            "a": 6, "b": { "c": 1.5, "none": null, "text": "x" },
            "choices": { "cost-benefit": 4 },
            "banks": [{ "erases": 3 }, { "erases": 5 }, { "erases": 10 }],
        })
    }

    fn value(text: &str) -> Result<f64, NoValue> {
        Expression::parse(text).expect(text).value(&result())
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("8 / 4 / 2", 1.0),
            ("5 - 2 - 1", 2.0),
            ("-a + 1", -5.0),
            ("2 * -b.c", -3.0),
            ("1_000.5", 1000.5),
            ("a-1", 5.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn keys_lead_through_objects_elements_and_quotes() {
        assert_eq!(value("b.c"), Ok(1.5));
        assert_eq!(value("banks[1].erases"), Ok(5.0));
        assert_eq!(value("choices.\"cost-benefit\" / a"), Ok(4.0 / 6.0));
        assert_eq!(value("choices . 'cost-benefit'"), Ok(4.0));
    }

    #[test]
    fn several_elements_are_aggregated_and_nothing_else() {
        assert_eq!(value("max(banks.erases)"), Ok(10.0));
        assert_eq!(value("min(banks.erases, 1 + 1)"), Ok(2.0));
        assert_eq!(value("mean(banks.erases) - sum(a, b.c)"), Ok(6.0 - 7.5));
        assert!(matches!(value("banks.erases"), Err(NoValue::Wrong(_))));
        assert!(matches!(value("b"), Err(NoValue::Wrong(_))));
        assert!(matches!(value("b.text"), Err(NoValue::Wrong(_))));
    }

    #[test]
    fn an_unknown_key_is_named_with_the_known_ones() {
        let missing = |text| match value(text) {
            Err(NoValue::Missing(what)) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(missing("b.x"), "`b` has no key `x`; it has c, none or text");
        assert_eq!(missing("b.none"), "`b.none` is null");
        assert_eq!(missing("banks[7].erases"), "`banks` has 3 elements, and no number 7");
        assert_eq!(missing("1 / (a - 6)"), "it divides by 0");
    }

    #[test]
    fn invalid_expressions_are_refused() {
        for text in ["", "a +", "(a", "a b", "max(a", "a..b", "a[x]", "3..4", "\"a", "a $ b"] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }
}
