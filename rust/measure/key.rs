// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A parameter: its name, what is allowed, and where it goes.

use super::words::small;
use core::{
    fmt::{self, Display, Formatter},
    ops::RangeInclusive,
};

/// A parameter of a `P`. Its display is what is allowed, as a complaint says it.
pub struct Key<P> {
    /// Its name.
    pub name: &'static str,
    value: Value<P>,
    /// What 0 means, and what is counted, where that is to be said of a number.
    zero: Option<&'static str>,
    unit: Option<&'static str>,
}

/// What a parameter's value may be.
enum Value<P> {
    /// A number within a range, and where it goes.
    Number(RangeInclusive<u32>, fn(&mut P) -> &mut u32),
    /// What is described here, and taken or refused by a function.
    Text(&'static str, fn(&mut P, &str) -> Option<()>),
}

impl<P> Key<P> {
    /// A number within `range`, which is not empty.
    pub const fn number(
        name: &'static str,
        range: RangeInclusive<u32>,
        of: fn(&mut P) -> &mut u32,
    ) -> Self {
        Self {
            name,
            value: Value::Number(range, of),
            zero: None,
            unit: None,
        }
    }

    /// A text, which `set` takes, or refuses by none. `allowed` says in words what it takes.
    pub const fn text(
        name: &'static str,
        allowed: &'static str,
        set: fn(&mut P, &str) -> Option<()>,
    ) -> Self {
        Self {
            name,
            value: Value::Text(allowed, set),
            zero: None,
            unit: None,
        }
    }

    /// The least number, 0, has this meaning.
    pub const fn zero(mut self, meaning: &'static str) -> Self {
        self.zero = Some(meaning);
        self
    }

    /// The number counts these.
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Sets it in `plan`. None if `text` is not allowed.
    pub fn set(&self, plan: &mut P, text: &str) -> Option<()> {
        match &self.value {
            Value::Number(range, of) => *of(plan) = small(text, *range.start(), *range.end())?,
            Value::Text(_, set) => set(plan, text)?,
        }
        Some(())
    }
}

impl<P> Display for Key<P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let range = match &self.value {
            Value::Number(range, _) => range,
            Value::Text(allowed, _) => return f.write_str(allowed),
        };
        write!(f, "{}", range.start())?;
        if let Some(meaning) = self.zero {
            write!(f, " ({meaning})")?;
        }
        let is_pair = range.end().wrapping_sub(*range.start()) == 1;
        write!(f, " {} {}", if is_pair { "or" } else { "to" }, range.end())?;
        if let Some(unit) = self.unit {
            write!(f, " {unit}")?;
        }
        Ok(())
    }
}
